"use strict";
// The page of `slmtok view`: tokenizes what is typed, draws tokens, explains the chosen one. Every text of a token is
// hostile input, so it enters the page as text only, never as markup.

const HINT =
  "Choose a token with the mouse, or with the arrow keys and Enter: its bytes, its piece and the merges that made it appear here.";
/** Tokens that are drawn while one types: what is seen of a panel, which is narrower where there are several. */
const TYPING_SHOWN = 400;
const TYPING_SHOWN_BESIDE = 200;
const FIRST_SHOWN = 2000;
/** Milliseconds without an edit after which more than what is seen is drawn. */
const PAUSE = 200;
const MORE_SHOWN = 20000;
const MAX_STEPS = 200;

/** One tokenizer on the page: its figures and its tokens. */
class Panel {
  constructor(tokenizer, index) {
    this.tokenizer = tokenizer;
    this.root = element("section", "panel");
    const title = element("h2", "", tokenizer.name);
    title.id = `name-${index}`;
    this.root.setAttribute("aria-labelledby", title.id);
    this.count = element("p", "count");
    this.figures = element("p", "about");
    this.list = element("div", "tokens");
    this.list.id = `tokens-${index}`;
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", `Tokens of ${tokenizer.name}`);
    this.more = element("button", "", "");
    this.more.type = "button";
    this.more.addEventListener("click", () => this.draw(this.drawn + MORE_SHOWN));
    this.list.addEventListener("click", (event) => this.choose(event.target.closest(".token")));
    Object.assign(this, { text: "", pieces: [], cut: [], n: 0, drawn: 0, parts: [], pieceOf: [] });
    this.list.addEventListener("keydown", (event) => this.move(event));
    this.root.append(title, element("p", "about", tokenizer.about), this.count, this.figures, this.list, this.more);
  }

  /** Tokenizes a text and returns the number of tokens; `first` is that of the first panel, for comparison. */
  update(text, nBytes, first = undefined) {
    const { first: at, removed, inserted } = this.tokenizer.splitter.edit(this.text, this.pieces, text);
    const added = inserted.map((piece) => this.tokenizer.parts(piece));
    const size = (cut) => cut.reduce((sum, parts) => sum + parts.length, 0);
    this.n += size(added) - size(this.cut.slice(at, at + removed));
    this.pieces = replaced(this.pieces, at, removed, inserted);
    this.cut = replaced(this.cut, at, removed, added);
    this.text = text;
    const { n } = this;
    this.count.textContent = plural(n, "token");
    const ratio = first === undefined || n === 0 ? "" : `, ${(n / first).toFixed(2)} times the first`;
    this.figures.textContent = n === 0 ? "" : `${(nBytes / n).toFixed(2)} bytes per token${ratio}`;
    const before = this.parts;
    this.collect(this.drawn);
    // An edit behind the drawn tokens changes none of them.
    if (before.length === this.parts.length && before.every((part, i) => part === this.parts[i])) this.showRest();
    else this.draw(Panel.single ? TYPING_SHOWN : TYPING_SHOWN_BESIDE);
    return n;
  }

  /** The first parts, up to `limit` that are drawn and those that may share a character with them. */
  collect(limit) {
    this.parts = [];
    this.pieceOf = [];
    for (let index = 0; index < this.cut.length && this.parts.length < limit + MAX_SHARING; index++) {
      for (const part of this.cut[index]) {
        this.parts.push(part);
        this.pieceOf.push(index);
      }
    }
  }

  draw(limit) {
    this.collect(limit);
    const { tokens, ids } = this.tokenizer.vocabulary, labels = Panel.labels;
    const write = { ids: (at) => `${ids[this.parts[at]]} `, bytes: (at) => `${hexOf(tokens[this.parts[at]])} ` }[labels];
    const { shown, drawn } = drawTokens(this.parts.map((part) => tokens[part]), limit, write, makeOption);
    this.drawn = drawn;
    this.active = null;
    this.list.className = `tokens ${labels}`;
    this.list.replaceChildren(shown);
    this.list.scrollTop = 0;
    this.list.removeAttribute("aria-activedescendant");
    this.showRest();
  }

  showRest() {
    const rest = this.n - this.drawn;
    this.more.hidden = rest <= 0;
    this.more.textContent = `${count(rest)} tokens are not drawn: draw ${count(Math.min(MORE_SHOWN, rest))} more`;
  }

  /** The elements of the drawn tokens, in order. */
  get labels() {
    return this.list.getElementsByClassName("token");
  }

  choose(label) {
    if (!label) return;
    this.activate(label);
    unselect();
    label.setAttribute("aria-selected", "true");
    explain(this, Array.prototype.indexOf.call(this.labels, label));
  }

  activate(label) {
    this.active?.classList.remove("active");
    this.active?.removeAttribute("id");
    this.active = label;
    label.id = `${this.list.id}-active`;
    label.classList.add("active");
    this.list.setAttribute("aria-activedescendant", label.id);
    label.scrollIntoView({ block: "nearest" });
  }

  move(event) {
    const { labels } = this;
    if (labels.length === 0) return;
    const at = Array.prototype.indexOf.call(labels, this.active);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: labels.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") this.choose(this.active);
    else if (to === undefined) return;
    else this.activate(labels[Math.max(0, Math.min(labels.length - 1, to))]);
    event.preventDefault();
  }
}

/** An array with some of its elements replaced. */
function replaced(array, at, removed, inserted) {
  return array.slice(0, at).concat(inserted, array.slice(at + removed));
}

function makeOption(label) {
  label.setAttribute("role", "option");
  label.setAttribute("aria-selected", "false");
}

function unselect() {
  for (const chosen of document.querySelectorAll('.token[aria-selected="true"]')) chosen.setAttribute("aria-selected", "false");
}

/** The number of characters of a text without lone surrogates. */
function countCharacters(text) {
  let n = text.length;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) n--;
  return n;
}

/** The token at a place of a panel: what it is, its piece, and the merges of the piece step by step. */
function explain(panel, index) {
  const { tokenizer, parts, pieceOf, pieces } = panel, { tokens, ids } = tokenizer.vocabulary;
  const token = tokens[parts[index]], piece = pieces[pieceOf[index]], list = element("dl");
  const row = (name, value) => {
    list.append(element("dt", "", name), value);
  };
  row("tokenizer", element("dd", "", tokenizer.name));
  row("place", element("dd", "", `${count(index)} of ${count(panel.n)}, from 0`));
  row("id", element("dd", "", String(ids[parts[index]])));
  row("text", appendToken(element("dd"), token));
  row("bytes", element("dd", "", hexOf(token)));
  row("piece", appendVisible(element("dd"), piece));
  byId("details").replaceChildren(detailsTitle(), list, ...mergeSteps(tokenizer, piece));
}

function detailsTitle() {
  const title = element("h2", "", "One token");
  title.id = "details-title";
  return title;
}

function mergeSteps(tokenizer, piece) {
  const { vocabulary } = tokenizer, steps = element("ol", "steps");
  steps.start = 0;
  const draw = (parts, made) => {
    const line = element("li");
    for (const part of parts) {
      const box = element("span", part === made ? "part made" : "part");
      line.append(appendToken(box, vocabulary.tokens[part]));
    }
    steps.append(line);
  };
  const before = vocabulary.start(bytesOf(piece), true), isLong = before.length > MAX_STEPS;
  let n = 0;
  draw(before.slice(0, MAX_STEPS), undefined);
  if (!isLong) {
    const merged = tokenizer.merge(piece, (parts, made) => n++ < MAX_STEPS && draw(parts, made)), parts = tokenizer.parts(piece);
    // A table of ranks may hold a whole piece that no merges make.
    if (parts.length < merged.length) draw(parts, parts[0]);
  }
  const none = isLong ? "The piece as it begins" : "No merge: the piece as it begins";
  const title = n > 0 ? `The piece after each of ${plural(n, "merge")}` : none;
  const note = isLong ? [element("p", "about", `Steps are drawn for pieces of up to ${MAX_STEPS} bytes.`)] : [];
  return [element("h3", "", title), steps, ...note];
}

async function start() {
  const data = await readData(), input = byId("text");
  const panels = data.tokenizers.map((each, index) => new Panel(new Tokenizer(each), index));
  Panel.single = panels.length === 1;
  byId("panels").append(...panels.map((panel) => panel.root));
  const update = () => {
    // A lone surrogate has no UTF-8.
    const typed = input.value, text = typed.isWellFormed?.() ? typed : typed.replace(/\p{Surrogate}/gu, "\ufffd");
    const nBytes = UTF8.encode(text).length;
    byId("size").textContent = `${plural(nBytes, "byte")}, ${plural(countCharacters(text), "character")}`;
    unselect();
    byId("details").replaceChildren(detailsTitle(), element("p", "", HINT));
    const first = panels[0].update(text, nBytes);
    for (const panel of panels.slice(1)) panel.update(text, nBytes, first);
  };
  const settle = () => panels.forEach((panel) => panel.drawn < FIRST_SHOWN && panel.active === null && panel.draw(FIRST_SHOWN));
  let waiting = 0, pause = 0;
  input.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    clearTimeout(pause);
    waiting = requestAnimationFrame(update);
    pause = setTimeout(settle, PAUSE);
  });
  for (const [name, text] of Object.entries(data.examples)) {
    const button = element("button", "", name);
    button.type = "button";
    button.addEventListener("click", () => { input.value = text; update(); settle(); });
    byId("examples").append(button);
  }
  for (const radio of document.getElementsByName("labels")) {
    radio.addEventListener("change", () => { Panel.labels = radio.value; panels.forEach((panel) => panel.draw(FIRST_SHOWN)); });
  }
  input.value = data.text ?? data.examples.Prose;
  update();
  settle();
}

Panel.labels = "text";
start().catch(fail);
