// The story: sliders put marks where the server has drawn them, and a visitor guesses who wrote what.
const SVG = "http://www.w3.org/2000/svg";
const status = document.querySelector("[data-status]");
let saying = 0;

function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// For a screen reader, once the hand rests: not every place that a slider passes.
function say(words) {
  clearTimeout(saying);
  saying = setTimeout(() => { status.textContent = words; }, 500);
}

function placeIn(svg, event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
}

// --- pictures with a slider ---------------------------------------------------------------------------

function setMark(mark, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") mark.textContent = value;
    else mark.setAttribute(name, value);
  }
}

function startPart(part) {
  const range = part.querySelector("input[type=range]");
  const stops = JSON.parse(range.dataset.stops);
  const svg = part.querySelector("svg");
  const marks = Object.fromEntries([...svg.querySelectorAll("[data-mark]")].map((mark) => [mark.dataset.mark, mark]));
  const show = () => {
    const [value, sentence, changes] = stops[range.value];
    for (const [name, attributes] of Object.entries(changes)) setMark(marks[name], attributes);
    part.querySelector("[data-value]").textContent = value;
    part.querySelector("[data-sentence]").textContent = sentence;
    range.setAttribute("aria-valuetext", value);
    say(sentence);
  };
  range.addEventListener("input", show);
  dragHandle(svg, marks.here, stops, (stop) => {
    if (Number(range.value) === stop) return;
    range.value = stop;
    show();
  });
  part.querySelector("[data-draw]")?.addEventListener("click", () => {
    range.value = Math.floor(Math.random() * stops.length);
    show();
  });
}

// The round handle goes to the stop whose handle is nearest.
function dragHandle(svg, handle, stops, choose) {
  const fixed = { cx: Number(handle.getAttribute("cx")), cy: Number(handle.getAttribute("cy")) };
  const handles = stops.map(([, , changes]) => ({ ...fixed, ...changes.here }));
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const { x, y } = placeIn(svg, event);
    const far = handles.map((one) => Math.hypot(one.cx - x, one.cy - y));
    choose(far.indexOf(Math.min(...far)));
  });
}

// --- the observer -------------------------------------------------------------------------------------

function startObserver(part) {
  const words = part.dataset;
  const posts = JSON.parse(words.posts).map(([person, at, clocks, places]) => ({ person, at, clocks, places }));
  const svg = part.querySelector("[data-picture] svg");
  const groups = [...svg.querySelectorAll("[data-post]")];
  const score = { made: [0, 0], right: [0, 0] };
  const { width, height } = svg.viewBox.baseVal;
  let side = 0;
  let first = null;

  const buttons = posts.map((_, n) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => choose(n));
    return button;
  });

  // In the order of time, for whoever walks with the keyboard.
  function arrange() {
    const order = posts.map((_, n) => n).sort((one, other) => posts[one].at[side] - posts[other].at[side]);
    part.querySelector("[data-buttons]").replaceChildren(...order.map((n) => buttons[n]));
    posts.forEach((post, n) => {
      const [x, y] = post.places[side];
      groups[n].style.transform = `translate(${x}px, ${y}px)`;
      buttons[n].style.left = `${(100 * x) / width}%`;
      buttons[n].style.top = `${(100 * y) / height}%`;
      buttons[n].setAttribute("aria-label", fill(words.post, { clock: post.clocks[side] }));
    });
    svg.dataset.side = side ? "delayed" : "without";
  }

  function press(n, isOn) {
    buttons[n].setAttribute("aria-pressed", String(isOn));
    groups[n].classList.toggle("chosen", isOn);
  }

  function forget() {
    svg.querySelector("[data-guess]")?.remove();
    groups.forEach((group, n) => {
      group.classList.remove("known");
      press(n, false);
    });
    first = null;
  }

  function tell(sentence) {
    part.querySelector("[data-says]").textContent = sentence;
    say(sentence);
  }

  function showScore() {
    part.querySelector("[data-score-words]").textContent = fill(words.score, {
      made_without: score.made[0], right_without: score.right[0], made_delayed: score.made[1], right_delayed: score.right[1],
    });
  }

  function join(one, other, isRight) {
    const line = document.createElementNS(SVG, "line");
    line.setAttribute("class", `guess ${isRight ? "right" : "wrong"}`);
    line.dataset.guess = "";
    [["x1", one, 0], ["y1", one, 1], ["x2", other, 0], ["y2", other, 1]].forEach(([name, n, axis]) => {
      line.setAttribute(name, posts[n].places[side][axis]);
    });
    svg.insertBefore(line, groups[0]);
  }

  function choose(n) {
    if (first === n) {
      forget();
      tell(words.choose);
      return;
    }
    if (first === null) {
      forget();
      first = n;
      press(n, true);
      tell(words.chosen);
      return;
    }
    const [one, other] = [posts[first], posts[n]];
    const isRight = one.person === other.person;
    score.made[side] += 1;
    score.right[side] += isRight;
    press(n, true);
    join(first, n, isRight);
    groups[first].classList.add("known");
    groups[n].classList.add("known");
    const minutes = Math.abs(one.at[side] - other.at[side]);
    const apart = minutes < 90 ? `${minutes} s` : `${Math.round(minutes / 60)} min`;
    tell(fill(isRight ? words.right : words.wrong, { person: one.person, other: other.person, apart }));
    showScore();
    first = null;
  }

  for (const radio of part.querySelectorAll("input[name=side]")) {
    radio.addEventListener("change", () => {
      side = radio.value === "delayed" ? 1 : 0;
      forget();
      arrange();
      tell(words.choose);
    });
  }
  const truth = part.querySelector("[data-truth]");
  truth.addEventListener("click", () => {
    const isShown = svg.classList.toggle("shown");
    truth.setAttribute("aria-pressed", String(isShown));
    truth.textContent = isShown ? words.hide : words.show;
  });
  arrange();
}

startObserver(document.querySelector("[data-observer]"));
document.querySelectorAll("[data-part]").forEach(startPart);
document.documentElement.dataset.live = "";
