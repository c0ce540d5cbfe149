// A draft, only if somebody asks for it: in this tab alone, one at a time, without any time. Once its post is sent it
// is gone; one that was refused is still there.
const KEY = "tarry draft";

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

function write(draft) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // A browser that keeps nothing keeps no draft.
  }
}

export function forget() {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There is none.
  }
}

// The receipt is there, so the post was accepted.
export function forgetSent() {
  if (read()?.sent) forget();
}

export function offerDraft(form) {
  const [box, button] = [form.querySelector("[data-keep]"), form.querySelector("[data-forget]")];
  const fields = [...form.querySelectorAll("[name=target], [name=content]")];
  const kept = read();

  function show(isKept) {
    box.checked = isKept;
    button.hidden = !isKept;
  }

  function keep(sent) {
    const words = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    if (box.checked) write({ place: form.dataset.place, words, sent });
  }

  form.querySelector("[data-draft]").hidden = false;
  show(kept?.place === form.dataset.place);
  for (const field of box.checked ? fields : []) {
    if (!field.readOnly && field.type !== "hidden") field.value = kept.words[field.name] ?? "";
  }
  box.addEventListener("change", () => {
    show(box.checked);
    if (box.checked) keep(false);
    else forget();
  });
  button.addEventListener("click", () => {
    forget();
    show(false);
    for (const field of fields) if (field.type !== "hidden") field.value = "";
    box.focus();
  });
  form.addEventListener("input", () => keep(false));
  form.addEventListener("submit", () => keep(true));
}
