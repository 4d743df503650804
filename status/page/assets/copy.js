import { element, setText } from "./elements.js";

const shownMs = 2_000;

/**
 * Copies a text. Browsers allow clipboard access only on pages served over TLS or from localhost; elsewhere, this selects the text and
 * copies the selection.
 */
async function copy(text, place) {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const selection = getSelection();
  selection.selectAllChildren(place);
  const isDone = document.execCommand("copy");
  if (isDone) selection.removeAllRanges();
  return isDone;
}

export function commandBlock(command) {
  const code = element("code", { tabindex: "0", role: "group", "aria-label": "Command" }, command);
  const button = element("button", { type: "button" }, "Copy");
  const say = (text) => {
    setText(button, text);
    setTimeout(() => setText(button, "Copy"), shownMs);
  };
  button.addEventListener("click", () => {
    copy(command, code).then(
      (isDone) => say(isDone ? "Copied" : "Select and copy"),
      () => say("Select and copy"),
    );
  });
  return element("div", { className: "command" }, code, button);
}
