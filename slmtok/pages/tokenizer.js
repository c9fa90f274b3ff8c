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

  /** The parts that merges begin with: a piece that is a token is that token at once, or its bytes if `apart`. */
  start(piece, apart = false) {
    const whole = apart ? undefined : this.byBytes.get(piece);
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

/** Pieces before an edit that are split again: more than can look as far as the edit, with the patterns of the engine. */
const CONTEXT_PIECES = 16;

/** Splits text by a pattern; what it does not match is a piece of its own. */
class Splitter {
  constructor(pattern, isLocal = false) {
    this.here = new RegExp(pattern, "yu");
    this.next = new RegExp(pattern, "gu");
    this.isLocal = isLocal;
  }

  split(text) {
    return this.edit("", [], text).inserted;
  }

  /**
   * What an edit changes in the pieces of a text: `inserted` replace `removed` pieces from number `first` on. A local
   * pattern looks behind no piece and ahead only to the end of a run of letters or white space, so that pieces well
   * before the edit stay, and those behind it from the first place on where a piece began before. Others start anew.
   */
  edit(before, pieces, text) {
    const { start, end } = this.isLocal ? changed(before, text) : { start: 0, end: Infinity };
    let first = 0, at = 0;
    while (first < pieces.length && at + pieces[first].length <= start) at += pieces[first++].length;
    for (let n = Math.min(first, CONTEXT_PIECES); n > 0; n--) at -= pieces[--first].length;
    // `old` is where piece number `last` of the text before the edit would begin now.
    let last = first, old = at + text.length - before.length;
    const inserted = [];
    while (at < text.length) {
      while (last < pieces.length && old < at) old += pieces[last++].length;
      if (at >= end && old === at) return { first, removed: last - first, inserted };
      const stop = this.endOfPiece(text, at);
      inserted.push(text.slice(at, stop));
      at = stop;
    }
    return { first, removed: pieces.length - first, inserted };
  }

  /** The end of the piece that begins at `start`. */
  endOfPiece(text, start) {
    const { here, next } = this;
    here.lastIndex = start;
    if (here.test(text) && here.lastIndex > start) return here.lastIndex;
    next.lastIndex = start;
    for (let match = next.exec(text); match !== null; match = next.exec(text)) {
      if (match[0] !== "") return match.index;
      next.lastIndex += text.codePointAt(match.index) > 0xffff ? 2 : 1;
    }
    return text.length;
  }
}

/** The part of `after` in which it differs from `before`. */
function changed(before, after) {
  const shorter = Math.min(before.length, after.length);
  let start = 0, same = 0;
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  while (same < shorter - start && before.charCodeAt(before.length - 1 - same) === after.charCodeAt(after.length - 1 - same)) same++;
  return { start, end: after.length - same };
}

class Tokenizer {
  constructor(data) {
    Object.assign(this, { name: data.name, about: data.about });
    this.splitter = new Splitter(data.pattern, data.local);
    this.vocabulary = new VOCABULARIES[data.kind](data);
    this.cache = new Map();
  }

  /** The parts of a piece after all merges, the earliest merge first and from the left. `onMerge` sees every step. */
  merge(piece, onMerge = undefined) {
    const { vocabulary } = this, parts = vocabulary.start(bytesOf(piece), onMerge !== undefined), heap = new Heap();
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
    return this.splitter.split(text.toWellFormed?.() ?? text).flatMap((piece) => this.parts(piece).map((part) => ids[part]));
  }
}
