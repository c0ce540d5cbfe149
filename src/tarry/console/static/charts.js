// Draws chart specs with the bundled library, which is loaded when the first chart is wanted.
// `ast` keeps it from building code out of text, so that no page needs a looser rule for scripts.
const drawn = new WeakMap();
let library = null;

function loaded() {
  library ??= import("./vega.js").then(() => window.vegaEmbed);
  return library;
}

function hint() {
  let box = document.querySelector(".chart-hint");
  if (!box) {
    box = document.createElement("div");
    box.className = "chart-hint small";
    box.hidden = true;
    document.body.append(box);
  }
  return box;
}

// What a point says that one rests on: text, and nothing but text.
function tell(_, event, item, value) {
  const box = hint();
  box.hidden = value === null || value === undefined || value === "";
  if (box.hidden) return;
  box.replaceChildren(...Object.values(value).map((word) => {
    const line = document.createElement("div");
    line.textContent = String(word);
    return line;
  }));
  box.style.left = `${Math.min(event.clientX + 12, window.innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${event.clientY + 14}px`;
}

export async function draw(box, spec) {
  const embed = await loaded();
  box.hidden = false;
  const width = Math.max(260, Math.min(560, Math.floor(box.clientWidth)));
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: tell };
  const made = document.createElement("div");
  made.setAttribute("aria-hidden", "true"); // the box around it is described as a whole
  const view = await embed(made, { ...spec, width, background: null }, options);
  drawn.get(box)?.finalize();
  drawn.set(box, view);
  box.replaceChildren(made);
}
