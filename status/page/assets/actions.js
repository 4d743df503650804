import { element, find, setText, showList } from "./elements.js";

const timeoutMs = 10_000;

/** Label, confirmation text and result texts for each action. */
const actions = {
  resume: {
    label: "Resume",
    agree: "Gatehouse acts on the node again and retries the failed step. Fix the cause first.",
    results: {
      lifted: ({ next }) => `Gatehouse acts again. ${next ?? ""}`,
      none: () => "Gatehouse is not paused.",
      busy: () => "The node is being rolled back. Resume when the rollback has finished.",
    },
  },
  adopt: {
    label: "Let Gatehouse act",
    agree: "Gatehouse applies the plan on this page, and then keeps the node in that state.",
    results: {
      adopted: () => "Gatehouse now acts on this node.",
      already: () => "Gatehouse already acts on this node.",
      another: () => "The plan has changed, so nothing was adopted. Read the new plan above, then approve it.",
      observes: () => "upkeep.mode is observe, so Gatehouse never acts.",
    },
  },
  restart: {
    label: "Restart the node",
    agree: "The node is unavailable while it restarts. If it does not recover, Gatehouse rolls back node.conf.",
    results: {
      requested: ({ waitsFor }) =>
        waitsFor === undefined
          ? "The restart is requested. This page shows the progress."
          : `The restart can't start yet: ${waitsFor}. This page shows the progress.`,
      busy: () => "A restart or upgrade is already in progress.",
      paused: () => "Gatehouse is paused. Resume it first.",
      waits: () => "Gatehouse needs your approval (`gatehouse adopt`) before it acts on this node.",
      observes: () => "upkeep.mode is observe, so Gatehouse never acts.",
      "no-driver": () => "restart.driver is none, so Gatehouse can't restart the node.",
    },
  },
};

/** The plan that the page shows; a confirmation applies only to this plan. */
let shownDigest;
let agreed;

const wrongToken = "Wrong token. Nothing was changed.";

/** Returns the reason why nothing was done, in plain words. */
function rejectionWords(status) {
  if (status === 401 || status === 400) return wrongToken;
  if (status === 503) return "The sidecar is starting. Retry in a few seconds.";
  return `The sidecar returned HTTP ${status}. Check its log.`;
}

/** The token is sent in a header, which no other site's page can set; a cookie would be sent automatically. */
async function send(name, body) {
  const response = await fetch(`/control/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${find("#token").value.trim()}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
    cache: "no-store",
    credentials: "omit",
  });
  if (!response.ok) return rejectionWords(response.status);
  const answer = await response.json();
  return actions[name].results[answer.result](answer);
}

function confirmAction(name) {
  const { label, agree } = actions[name];
  if (find("#token").value.trim() === "") {
    setText(find("#action-result"), "Enter the token first.");
    find("#token").focus();
    return;
  }
  // A header may only contain printable ASCII; with anything else, the request could not be sent.
  if (/[^\x21-\x7e]/.test(find("#token").value.trim())) {
    setText(find("#action-result"), wrongToken);
    return;
  }
  setText(find("#action-result"), "");
  agreed = { name, body: name === "adopt" ? { digest: shownDigest } : {} };
  setText(find("#confirm-title"), `${label}: ${find("#name").textContent}?`);
  setText(find("#confirm-text"), agree);
  setText(find("#confirm-yes"), label);
  find("#confirm").showModal();
  find("#confirm-no").focus();
}

async function act() {
  const { name, body } = agreed;
  find("#confirm").close();
  setText(find("#action-result"), "Waiting for the sidecar\u2026");
  const outcome = await send(name, body).catch(() => "No response, so the outcome is unknown. Check the events.");
  setText(find("#action-result"), outcome);
}

function button(name) {
  const made = element("button", { type: "button" }, actions[name].label);
  made.addEventListener("click", () => confirmAction(name));
  return made;
}

/** Offers the actions that are currently available; none if the sidecar has no token. */
export function showActions({ actions: offered, plan }) {
  shownDigest = plan?.digest;
  find("#actions-section").hidden = offered === undefined;
  showList(find("#actions"), offered ?? [], button);
}

find("#confirm-no").addEventListener("click", () => find("#confirm").close());
find("#confirm-yes").addEventListener("click", () => void act());
