"use strict";
// A tokenizer in the browser: text to pieces by the pattern, pieces to ids by merges. Its data come from page_data.py.
// Tokens are strings of one character per byte, U+0000 to U+00FF, because only strings are keys of a Map by value.

const UTF8 = new TextEncoder();

function bytesOf(text) {
  const bytes = UTF8.encode(text);
  let token = "";
  for (let i = 0; i < bytes.length; i++) token += String.fromCharCode(bytes[i]);
  return token;
}

/** Entries with the smallest key first; equal keys do not occur. */
class Heap {
  keys = [];

  push(key) {
    const keys = this.keys;
    let i = keys.push(key) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (keys[parent] <= key) break;
      keys[i] = keys[parent];
      i = parent;
    }
    keys[i] = key;
  }

  pop() {
    const keys = this.keys, least = keys[0], last = keys.pop();
    if (keys.length === 0) return least;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= keys.length) break;
      if (child + 1 < keys.length && keys[child + 1] < keys[child]) child++;
      if (keys[child] >= last) break;
      keys[i] = keys[child];
      i = child;
    }
    keys[i] = last;
    return least;
  }
}

/**
 * A vocabulary whose merges are listed: parts are numbered as they are made, the bytes first.
 * A merge of three numbers spells a special token: it takes part in later merges, but text never becomes its id.
 */
class MergeList {
  constructor(data) {
    this.tokens = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
    this.ids = this.tokens.map((_, byte) => data.first_byte + byte);
    this.made = new Map();
    this.sides = [];
    this.parts = new Map();
    const partOf = new Map(this.ids.map((id, part) => [id, part]));
    let fresh = data.first_byte + 256;
    for (const [left, right, special] of data.merges) {
      const part = this.tokens.length, a = partOf.get(left), b = partOf.get(right);
      this.made.set(a * 0x200000 + b, part);
      this.sides[part] = [a, b];
      this.tokens.push(this.tokens[a] + this.tokens[b]);
      this.ids.push(special ?? fresh++);
      partOf.set(this.ids[part], part);
      if (special !== undefined) this.parts.set(part, [a, b]);
    }
  }

  start(piece) {
    return Array.from(piece, (char) => char.charCodeAt(0));
  }

  join(a, b) {
    return this.made.get(a * 0x200000 + b);
  }

  /** The two parts that a merge joined to this one; undefined for others. */
  sidesOf(part) {
    return this.sides[part];
  }

  emit(part) {
    const parts = this.parts.get(part);
    return parts ? parts.flatMap((each) => this.emit(each)) : [part];
  }
}

/** A vocabulary where two neighbours merge if their bytes together are a token; its id says how early. */
class RankTable {
  constructor(data) {
    this.tokens = data.tokens;
    this.ids = data.tokens.map((_, id) => id);
    this.byBytes = new Map();
    data.tokens.forEach((token, id) => token !== null && this.byBytes.set(token, id));
  }

  start(piece) {
    const whole = this.byBytes.get(piece);
    return whole === undefined ? Array.from(piece, (char) => this.byBytes.get(char)) : [whole];
  }

  join(a, b) {
    return this.byBytes.get(this.tokens[a] + this.tokens[b]);
  }

  /** As above: what earlier merges leave of the bytes of a token. */
  sidesOf(part) {
    const parts = Array.from(this.tokens[part], (char) => this.byBytes.get(char));
    while (parts.length > 2) {
      let at = -1, first = part;
      for (let i = 0; i + 1 < parts.length; i++) {
        const joined = this.join(parts[i], parts[i + 1]);
        if (joined < first) [at, first] = [i, joined];
      }
      if (at < 0) return undefined;
      parts.splice(at, 2, first);
    }
    return parts.length === 2 ? parts : undefined;
  }

  emit(part) {
    return [part];
  }
}

/** A vocabulary of whole pieces: a piece that is not a token is spelled in bytes. */
class PieceTable {
  constructor(data) {
    this.tokens = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).concat(data.tokens);
    this.ids = this.tokens.map((_, part) => data.first_byte + part);
    this.byBytes = new Map(this.tokens.map((token, part) => [token, part]));
  }

  start(piece) {
    const whole = this.byBytes.get(piece);
    return whole === undefined ? Array.from(piece, (char) => char.charCodeAt(0)) : [whole];
  }

  join() {
    return undefined;
  }

  sidesOf() {
    return undefined;
  }

  emit(part) {
    return [part];
  }
}

const VOCABULARIES = { merges: MergeList, ranks: RankTable, pieces: PieceTable };
const POSITION = 0x100000000;

class Tokenizer {
  constructor(data) {
    Object.assign(this, { name: data.name, about: data.about });
    this.pattern = new RegExp(data.pattern, "gu");
    this.vocabulary = new VOCABULARIES[data.kind](data);
    this.cache = new Map();
  }

  /** The pieces of a text; what the pattern does not match is a piece of its own. */
  split(text) {
    const pieces = [];
    let end = 0;
    for (const { 0: match, index } of text.matchAll(this.pattern)) {
      if (match === "") continue;
      if (index > end) pieces.push(text.slice(end, index));
      pieces.push(match);
      end = index + match.length;
    }
    if (end < text.length) pieces.push(text.slice(end));
    return pieces;
  }

  /** The parts of a piece after all merges, the earliest merge first and from the left. `onMerge` sees every step. */
  merge(piece, onMerge = undefined) {
    const { vocabulary } = this, parts = vocabulary.start(bytesOf(piece)), heap = new Heap();
    const next = parts.map((_, i) => i + 1), previous = parts.map((_, i) => i - 1);
    const offer = (i) => {
      if (i < 0 || next[i] >= parts.length) return;
      const part = vocabulary.join(parts[i], parts[next[i]]);
      if (part !== undefined) heap.push(part * POSITION + i);
    };
    for (let i = 0; i < parts.length; i++) offer(i);
    while (heap.keys.length) {
      const key = heap.pop(), i = key % POSITION, part = Math.floor(key / POSITION);
      // Entries of parts that were merged in the meantime are out of date.
      if (parts[i] === null || next[i] >= parts.length) continue;
      if (vocabulary.join(parts[i], parts[next[i]]) !== part) continue;
      const gone = next[i];
      parts[i] = part;
      parts[gone] = null;
      next[i] = next[gone];
      if (next[i] < parts.length) previous[next[i]] = i;
      onMerge?.(parts.filter((each) => each !== null), part);
      offer(previous[i]);
      offer(i);
    }
    return parts.filter((part) => part !== null).flatMap((part) => vocabulary.emit(part));
  }

  /** The parts of a piece, remembered: most pieces of a text occur often. */
  parts(piece) {
    let parts = this.cache.get(piece);
    if (parts === undefined) {
      parts = this.merge(piece);
      if (this.cache.size >= 100000) this.cache.clear();
      this.cache.set(piece, parts);
    }
    return parts;
  }

  encode(text) {
    const { ids } = this.vocabulary;
    return this.split(text.toWellFormed?.() ?? text).flatMap((piece) => this.parts(piece).map((part) => ids[part]));
  }
}
