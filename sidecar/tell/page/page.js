/** Time between two updates, and until a question counts as unanswered. */
const intervalMs = 2_000;
const timeoutMs = 5_000;

const words = { True: "right", False: "wrong", Unknown: "not known" };

/** Makes an element with a text. Texts are never read as HTML. */
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function moment(iso) {
  const made = element("time", new Date(iso).toLocaleString());
  made.dateTime = iso;
  return made;
}

function conditionItem({ type, status, reason, message, since }) {
  const item = document.createElement("li");
  item.dataset.status = status;
  const head = document.createElement("p");
  head.append(element("strong", type), ` ${words[status]} (${reason}), since `, moment(since));
  item.append(head, element("p", message));
  return item;
}

function eventItem({ at, kind, message }) {
  const item = document.createElement("li");
  item.append(moment(at), ` ${kind}: ${message}`);
  return item;
}

/** Draws a series as one line over the whole chart. */
function draw(chart, output, points) {
  const values = points.map(({ value }) => value);
  const last = values.at(-1);
  output.textContent = last === undefined ? "not known" : last.toLocaleString();
  if (points.length < 2) return;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [from, to] = [points[0].atMs, points.at(-1).atMs];
  const line = points.map(({ atMs, value }, index) => {
    const x = (300 * (atMs - from)) / Math.max(1, to - from);
    const y = 76 - (72 * (value - low)) / Math.max(1, high - low);
    return `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", line.join(""));
  chart.replaceChildren(path);
  const minutes = Math.max(1, Math.round((to - from) / 60_000));
  chart.setAttribute("aria-label", `From ${low} to ${high} within ${minutes} min, now ${last}`);
}

function show(status) {
  const wrong = status.conditions.filter((condition) => condition.status === "False");
  const verdict = document.querySelector("#verdict");
  const text = status.right ? "All is right." : `Wrong: ${wrong.map(({ type }) => type).join(", ")}`;
  // A live region speaks at each change, so it is only touched when the words change.
  if (verdict.textContent !== text) verdict.textContent = text;
  verdict.dataset.status = status.right ? "right" : "wrong";
  const { clientVersion, chainId } = status.node;
  document.querySelector("#facts").textContent =
    `${clientVersion ?? "version not known"}, chain ${chainId ?? "not known"}`;
  draw(document.querySelector("#height-chart"), document.querySelector("#height-now"), status.charts.heights);
  draw(document.querySelector("#prune-chart"), document.querySelector("#prune-now"), status.charts.pruned);
  const sorted = [...wrong, ...status.conditions.filter((condition) => condition.status !== "False")];
  document.querySelector("#conditions").replaceChildren(...sorted.map(conditionItem));
  document.querySelector("#events").replaceChildren(...status.events.map(eventItem));
  document.querySelector("#updated").textContent = `Updated ${new Date().toLocaleTimeString()}`;
}

async function update() {
  try {
    const response = await fetch("/status", { signal: AbortSignal.timeout(timeoutMs) });
    show(await response.json());
  } catch (error) {
    const verdict = document.querySelector("#verdict");
    verdict.textContent = `The sidecar does not answer (${error.message}). What is below is old.`;
    verdict.dataset.status = "wrong";
  }
  setTimeout(update, intervalMs);
}

await update();
