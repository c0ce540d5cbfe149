// New posts appear by themselves. Content is only ever set as text.
import { localTimes } from "./times.js";

const box = document.querySelector("[data-threads]");
const news = document.querySelector("[data-news]");

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function threadOf(target) {
  for (const thread of box.querySelectorAll("[data-target]")) {
    if (thread.dataset.target === target) return thread;
  }
  const thread = element("article", "card thread");
  thread.dataset.target = target;
  const heading = element("h3", "", `${target} `);
  const count = element("span", "faint small");
  count.dataset.count = "0";
  heading.append(count);
  thread.append(heading);
  return thread;
}

function show(item) {
  box.querySelector("[data-empty]")?.remove();
  const thread = threadOf(item.target);
  const post = element("div", "post");
  const line = element("p", "small faint");
  line.append(element("strong", "", String(item.options.by || box.dataset.nobody)), " · ");
  const time = element("time", "", item.at);
  time.dateTime = item.at;
  line.append(time);
  const words = typeof item.content === "string" ? item.content : JSON.stringify(item.content ?? null);
  post.append(line, element("p", "content", words));
  thread.append(post);
  const count = thread.querySelector("[data-count]");
  const many = Number(count.dataset.count) + 1;
  count.dataset.count = String(many);
  count.textContent = many === 1 ? box.dataset.one : box.dataset.many.replace("{count}", String(many));
  box.prepend(thread);
  news.textContent = news.dataset.text.replace("{target}", item.target);
  localTimes(post);
}

localTimes(document);
if (box) {
  const from = `/v1/spaces/${box.dataset.space}/feed/events?after=${box.dataset.last}`;
  const stream = new EventSource(from);
  stream.addEventListener("release", (event) => show(JSON.parse(event.data)));
  stream.addEventListener("open", () => { document.querySelector("[data-live]").hidden = false; });
}
