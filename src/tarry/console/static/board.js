// New posts appear by themselves, on the first page of a list and on the last one of a thread. Content is only ever
// set as text, into a copy of the page's own blank post.
import { offerDraft } from "./draft.js";
import { localTimes } from "./times.js";

const SHORT = 1200;
const list = document.querySelector("[data-threads]");
const thread = document.querySelector("[data-thread]");
const news = document.querySelector("[data-news]");
const form = document.querySelector("[data-write]");
const place = list ?? thread;

function blank() {
  return document.querySelector("[data-blank]").content.firstElementChild.cloneNode(true);
}

function fill(post, item, long) {
  const words = typeof item.content === "string" ? item.content : JSON.stringify(item.content ?? null);
  const [time, link] = [post.querySelector("time"), post.querySelector("a.permalink")];
  post.id = `p-${item.id}`;
  post.querySelector("strong").textContent = String(item.options.by || place.dataset.nobody);
  post.querySelector(".content").textContent = words.length > long ? `${words.slice(0, long)}…` : words;
  time.dateTime = item.at;
  link.href = `/board/${place.dataset.space}/post/${item.id}`;
  localTimes(post);
}

function topOf(target) {
  for (const each of list.querySelectorAll("[data-target]")) if (each.dataset.target === target) return each;
  const made = blank();
  const link = made.querySelector("h3 a");
  made.dataset.target = target;
  link.textContent = target;
  link.href = `/board/${list.dataset.space}/thread?of=${encodeURIComponent(target)}`;
  return made;
}

function showInList(item) {
  list.querySelector("[data-empty]")?.remove();
  const top = topOf(item.target);
  const count = top.querySelector("[data-count]");
  const many = Number(count.dataset.count) + 1;
  count.dataset.count = String(many);
  count.textContent = many === 1 ? list.dataset.one : list.dataset.many.replace("{count}", String(many));
  fill(top.querySelector(".post"), item, SHORT);
  list.prepend(top);
  while (list.childElementCount > Number(list.dataset.most)) list.lastElementChild.remove();
}

function showInThread(item) {
  const post = blank();
  fill(post, item, Infinity);
  thread.append(post);
}

function show(item) {
  if (document.getElementById(`p-${item.id}`)) return; // it was there before the stream began
  if (list) showInList(item);
  else if (item.target === thread.dataset.target) showInThread(item);
  else return;
  news.textContent = news.dataset.text.replace("{target}", item.target);
}

localTimes(document);
if (form) offerDraft(form);
if (place?.dataset.last) {
  const from = `/v1/spaces/${place.dataset.space}/feed/events?after=${place.dataset.last}`;
  const stream = new EventSource(from);
  stream.addEventListener("release", (event) => show(JSON.parse(event.data)));
  stream.addEventListener("open", () => { document.querySelector("[data-live]").hidden = false; });
}
