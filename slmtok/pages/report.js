"use strict";
// The page of `slmtok report`: the vocabulary as a table that one filters and sorts, the merges of a token, and samples.

const PAGE_ROWS = 50;
const MAX_TREE_BYTES = 400;
const MAX_USERS = 40;

/** A tokenizer of the page: its vocabulary by id. Built when it is first shown. */
class Subject {
  constructor(data) {
    this.data = data;
    this.vocabulary = new VOCABULARIES[data.kind](data);
    this.partOf = new Map();
    // The first part of an id: a merge that spells a special comes with its id again.
    this.vocabulary.ids.forEach((id, part) => this.partOf.has(id) || this.partOf.set(id, part));
    this.countNames = Object.keys(data.counts);
    this.rows = data.classes.flatMap((kind, id) => (kind < 0 ? [] : [this.row(id, data.class_names[kind])]));
  }

  row(id, kind) {
    const special = this.data.specials[id];
    const token = special ? bytesOf(special[1]) : this.token(id);
    return { id, token, kind: special ? `special: ${special[0]}` : kind, size: special ? 0 : token.length };
  }

  token(id) {
    return this.vocabulary.tokens[this.partOf.get(id)] ?? "";
  }

  count(name, id) {
    return this.data.counts[name]?.[id] ?? 0;
  }
}

const CLASS_TESTS = {
  all: () => true,
  byte: (row) => row.size === 1,
  "non-ascii": (row) => row.kind !== "split" && /[\u0080-\u00ff]/.test(row.token),
  special: (row) => row.kind.startsWith("special"),
};

/** What the search box asks: `#12` is an id, `\n` and `\xff` are bytes, anything else is text. */
function searchTest(query) {
  if (query === "") return () => true;
  if (/^#\d+$/.test(query)) return (row) => row.id === Number(query.slice(1));
  const named = { n: "\n", r: "\r", t: "\t", "\\": "\\" };
  const bytes = query.split(/(\\x[0-9a-f]{2}|\\[nrt\\])/i).map((part, index) =>
    index % 2 === 0 ? bytesOf(part.replaceAll("␣", " ")) : named[part[1]] ?? String.fromCharCode(parseInt(part.slice(2), 16)));
  return (row) => row.token.includes(bytes.join(""));
}

class Browser {
  constructor(subjects, names) {
    this.subjects = subjects;
    this.first = 0;
    fillSelect(byId("filter-tokenizer"), names.map((name, index) => [String(index), name]));
    for (const id of ["filter-text", "filter-low", "filter-high", "filter-class", "filter-sort"]) {
      byId(id).addEventListener("input", () => this.filter());
    }
    byId("filter-tokenizer").addEventListener("input", () => this.choose());
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("page-before").addEventListener("click", () => this.turn(-PAGE_ROWS));
    byId("page-after").addEventListener("click", () => this.turn(PAGE_ROWS));
    this.choose();
  }

  get subject() {
    return this.subjects[Number(byId("filter-tokenizer").value)]();
  }

  choose() {
    const { subject } = this;
    fillSelect(byId("filter-class"), [...Object.keys(CLASS_TESTS), ...subject.data.class_names.filter((name) => name !== "special")]
      .map((name) => [name, name]));
    const orders = [["id", "id, as learned"], ["size", "longest first"]];
    for (const name of subject.countNames) orders.push([`most:${name}`, `${name}: most first`], [`least:${name}`, `${name}: least first`]);
    fillSelect(byId("filter-sort"), orders);
    const head = element("tr");
    for (const title of ["id", "token", "bytes", "class", ...subject.countNames]) {
      const cell = element("th", ["token", "class"].includes(title) ? "words" : "", title);
      cell.scope = "col";
      head.append(cell);
    }
    byId("tokens-head").replaceChildren(head);
    this.filter();
  }

  filter() {
    const { subject } = this, kind = byId("filter-class").value, search = searchTest(byId("filter-text").value);
    const low = Number(byId("filter-low").value || 0), high = Number(byId("filter-high").value || Infinity);
    const inClass = CLASS_TESTS[kind] ?? ((row) => row.kind === kind);
    this.found = subject.rows.filter((row) => row.size >= low && row.size <= high && inClass(row) && search(row));
    const [order, ...rest] = byId("filter-sort").value.split(":"), name = rest.join(":");
    const sign = order === "most" ? -1 : 1;
    if (order === "size") this.found.sort((a, b) => b.size - a.size || a.id - b.id);
    else if (order !== "id") this.found.sort((a, b) => sign * (subject.count(name, a.id) - subject.count(name, b.id)) || a.id - b.id);
    this.first = 0;
    this.draw();
  }

  turn(rows) {
    this.first = Math.max(0, Math.min(this.first + rows, this.found.length - 1));
    this.draw();
  }

  draw() {
    const { subject } = this, last = Math.min(this.first + PAGE_ROWS, this.found.length);
    byId("found").textContent = this.found.length === 0 ? "No token fits." :
      `${count(this.first + 1)} to ${count(last)} of ${plural(this.found.length, "token")}`;
    byId("page-before").disabled = this.first === 0;
    byId("page-after").disabled = last === this.found.length;
    byId("tokens-body").replaceChildren(...this.found.slice(this.first, last).map((row) => this.line(subject, row)));
  }

  line(subject, row) {
    const line = element("tr"), name = element("th"), button = element("button", "plain", String(row.id));
    button.type = "button";
    button.setAttribute("aria-label", `Merges of id ${row.id}`);
    button.addEventListener("click", () => { showTree(subject, row.id); byId("merges").scrollIntoView(); byId("tree-id").focus(); });
    name.scope = "row";
    name.append(button);
    const cells = [appendToken(element("td", "text"), row.token), element("td", "", count(row.size)), element("td", "text", row.kind)];
    const counts = subject.countNames.map((each) => element("td", "", count(subject.count(each, row.id))));
    line.append(name, ...cells, ...counts);
    return line;
  }
}

function fillSelect(select, options) {
  select.replaceChildren(...options.map(([value, text]) => {
    const option = element("option", "", text);
    option.value = value;
    return option;
  }));
}

/** The token of an id, its parts, their parts, and the tokens that it is part of. */
function showTree(subject, id) {
  const row = subject.rows.find((each) => each.id === id), shown = byId("tree");
  byId("tree-id").value = id;
  if (!row) return shown.replaceChildren(element("p", "", `${subject.data.name} has no id ${id}.`));
  const facts = element("dl"), part = subject.partOf.get(id);
  const fact = (name, value) => facts.append(element("dt", "", name), value);
  fact("tokenizer", element("dd", "", subject.data.name));
  fact("text", appendToken(element("dd"), row.token));
  fact("bytes", element("dd", "", hexOf(row.token)));
  fact("class", element("dd", "", row.kind));
  for (const name of subject.countNames) fact(name, element("dd", "", plural(subject.count(name, id), "time")));
  const users = usersOf(subject, part);
  if (users.length) {
    const list = element("dd");
    for (const each of users.slice(0, MAX_USERS)) list.append(tokenButton(subject, each), " ");
    if (users.length > MAX_USERS) list.append(`and ${count(users.length - MAX_USERS)} more`);
    fact("part of", list);
  }
  const tree = row.size > MAX_TREE_BYTES
    ? element("p", "about", `The tree is drawn for tokens of up to ${MAX_TREE_BYTES} bytes.`)
    : element("ul", "tree");
  if (part !== undefined && row.size && row.size <= MAX_TREE_BYTES) tree.append(branch(subject, part));
  return shown.replaceChildren(facts, tree);
}

function branch(subject, part) {
  const item = element("li"), sides = subject.vocabulary.sidesOf(part);
  item.append(tokenButton(subject, part));
  if (sides) {
    const list = element("ul");
    list.append(...sides.map((side) => branch(subject, side)));
    item.append(list);
  }
  return item;
}

function tokenButton(subject, part) {
  const id = subject.vocabulary.ids[part], button = appendToken(element("button", "plain part"), subject.vocabulary.tokens[part]);
  button.type = "button";
  button.append(element("span", "about", ` ${id}`));
  button.addEventListener("click", () => { showTree(subject, id); byId("tree-id").focus(); });
  return button;
}

/** The parts that a merge made of this one: known where merges are listed. */
function usersOf(subject, part) {
  const { sides } = subject.vocabulary;
  if (!sides) return [];
  return sides.flatMap((pair, user) => (pair[0] === part || pair[1] === part ? [user] : []));
}

function drawSamples(data, subjects) {
  data.samples.forEach((name, index) => {
    const title = element("h3", "", name), columns = element("div", "columns");
    for (const subject of subjects.map((each) => each())) {
      const ids = subject.data.samples[index], tokens = ids.map((id) => subject.token(id));
      const text = element("div", "tokens"), size = tokens.reduce((sum, token) => sum + token.length, 0);
      text.append(drawTokens(tokens, tokens.length, undefined, (label, at) => { label.title = `id ${ids[at]}`; }).shown);
      const column = element("div", "sample");
      const figures = tokens.length ? `, ${(size / tokens.length).toFixed(2)} bytes per token` : "";
      column.append(element("h4", "", subject.data.name), element("p", "about", plural(tokens.length, "token") + figures), text);
      columns.append(column);
    }
    byId("sample-texts").append(title, columns);
  });
}

async function start() {
  const data = await readData();
  const built = new Map();
  const subjects = data.tokenizers.map((each) => () => {
    if (!built.has(each)) built.set(each, new Subject(each));
    return built.get(each);
  });
  const browser = new Browser(subjects, data.tokenizers.map((each) => each.name));
  byId("tree-form").addEventListener("submit", (event) => {
    event.preventDefault();
    showTree(browser.subject, Number(byId("tree-id").value));
  });
  const { rows } = browser.subject, deepest = rows.reduce((a, b) => (b.size <= 24 && b.size > a.size ? b : a), rows[0]);
  showTree(browser.subject, deepest.id);
  if (data.samples.length) drawSamples(data, subjects);
}

start().catch(fail);
