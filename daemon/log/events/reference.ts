import { formatTable } from "../../markdown.ts";
import type { LogEventRow } from "./event-row.ts";
import { logEventChapters } from "./all-events.ts";

const introduction = `# Log events

Every event that the services write under a name, which is the field \`event.action\` of its line ([logs](logs.md)). The name of an event and its level stay as they are while the
sentence in \`message\` may get better: match the name. A line at \`warn\`, \`error\` or \`fatal\` always has one. Where there is a runbook, the line names it in
\`event.reference\`.

This page is printed from the table that the services are compiled against by \`npm run docs\`.
`;

/** Prints docs/log-events.md. */
export function printLogEvents(): string {
  const chapters = Object.entries(logEventChapters).map(
    ([title, events]) => `\n## ${title}\n\n${formatEvents(events)}\n`,
  );
  return `${introduction}${chapters.join("")}`;
}

function formatEvents(events: Readonly<Record<string, LogEventRow>>): string {
  const rows = Object.entries(events).map(([name, { level, means, act, runbook }]) => {
    const page = runbook === undefined ? "" : `[${runbook}](runbooks/${runbook}.md)`;
    return [`\`${name}\``, level, means, [act ?? "", page].filter(Boolean).join(" ")];
  });
  return formatTable(["event.action", "level", "what it means", "what to do"], rows).join("\n");
}
