"use strict";
// What the pages share: elements, the text of tokens, tokens of a text, the data of the page. Every text of a token is
// hostile input, so it enters the page as text only, never as markup.

const TINTS = 4;
const MAX_SHARING = 64;
const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const byId = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en");
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const hexOf = (token) => Array.from(token, (char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join(" ");

/** An element with a text; characters that cannot be seen stand in it by their numbers. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} \n]/gu, numbered);
  return made;
}

function numbered(char) {
  return `\\u{${char.codePointAt(0).toString(16)}}`;
}

/** The text of whole characters; null where bytes are not UTF-8. */
function textOf(token) {
  try {
    return STRICT_UTF8.decode(Uint8Array.from(token, (char) => char.charCodeAt(0)));
  } catch {
    return null;
  }
}

const NAMED = { " ": "␣", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Adds a text with what cannot be seen, or changes the direction of its neighbours, by its number. */
function appendVisible(parent, text) {
  for (const part of text.split(/([^\p{L}\p{M}\p{N}\p{P}\p{S}])/u)) {
    if (part === "") continue;
    if (/^[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(part)) parent.append(part);
    else parent.append(element("span", "special-char", NAMED[part] ?? numbered(part)));
  }
  return parent;
}

function appendToken(parent, token) {
  const text = textOf(token);
  if (text === null) parent.append(element("span", "hex", hexOf(token)));
  else appendVisible(parent, text);
  return parent;
}

/**
 * Tokens, strings of bytes, as elements, up to `limit` of them; `decorate` sees each with its index. `write(index)` is
 * drawn instead of the text. A character that tokens share is drawn once, before their bytes.
 */
function drawTokens(tokens, limit, write = undefined, decorate = undefined) {
  const shown = document.createDocumentFragment();
  let i = 0;
  while (i < tokens.length && i < limit) {
    let stop = i + 1, bytes = tokens[i];
    while (!write && textOf(bytes) === null && stop < Math.min(tokens.length, i + MAX_SHARING)) bytes += tokens[stop++];
    if (textOf(bytes) === null) stop = i + 1;
    if (stop > i + 1) shown.append(appendVisible(element("span", "shared"), textOf(bytes)));
    for (let at = i; at < stop; at++) {
      const label = element("span", `token tint-${at % TINTS}`);
      if (write) label.textContent = write(at);
      else if (stop > i + 1) label.append(element("span", "hex", hexOf(tokens[at])));
      else appendToken(label, tokens[at]);
      decorate?.(label, at);
      shown.append(label);
      if (tokens[at].endsWith("\n")) shown.append("\n");
    }
    i = stop;
  }
  return { shown, drawn: i };
}

async function readData() {
  const packed = Uint8Array.from(atob(byId("data").textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function fail(error) {
  byId("failure").hidden = false;
  byId("failure").textContent = `This browser cannot show the page (${error.message}). It needs Chrome 80, Firefox 113, Safari 16.4 or newer.`;
}
