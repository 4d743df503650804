import { escapeCell, wrapLines } from "../../markdown.ts";
import type { LogEventRow } from "./event-row.ts";
import { logEventChapters } from "./all-events.ts";

const introduction = `# Log events

Printed by \`npm run docs\` from the table that the services are compiled against; do not edit. A name is the field \`event.action\` of its line
([logs](logs.md)). Match it: names and levels are stable, but the sentence in \`message\` may change. Every line at \`warn\`, \`error\`
or \`fatal\` has a name. The level is in brackets (omitted for \`info\`), followed by what to do.
`;

export function printLogEvents(): string {
  const chapters = Object.entries(logEventChapters).map(
    ([title, events]) => `\n## ${title}\n\n${formatEvents(events)}\n`,
  );
  return `${introduction}${chapters.join("")}`;
}

function formatEvents(events: Readonly<Record<string, LogEventRow>>): string {
  const lines = Object.entries(events).flatMap(([name, { level, act, runbook }]) => {
    const page = runbook === undefined ? [] : [`[${runbook}](runbooks/${runbook}.md)`];
    const advice = act === undefined ? [] : [escapeCell(act.replace(/\.$/, ""))];
    const term = `- \`${name}\`${level === "info" ? "" : ` (${level})`}`;
    return wrapLines([term, [...advice, ...page].join(". ")].filter((text) => text !== "").join(": "));
  });
  return lines.join("\n");
}
