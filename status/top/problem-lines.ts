import type { Drawn } from "./drawn.ts";
import type { TopStatus } from "./top-status.ts";
import { formatDuration, fit, formatPlain, wrap } from "./top-words.ts";

/** Most root causes that are shown whole. */
const problemsShown = 4;

type Problem = NonNullable<TopStatus["incidents"]>[number];

const colours: Readonly<Record<string, "red" | "yellow" | "blue">> = { critical: "red", working: "blue" };

/** Draws an entry for each root cause, with its steps. A gateway alone reports conditions and no causes. */
export function renderProblems(
  { incidents, conditions }: TopStatus,
  nowMs: number,
  { width, paint }: Drawn,
): readonly string[] {
  const problems = incidents ?? conditions.filter(({ status }) => status === "False").map(toProblem);
  const shown = problems.slice(0, problemsShown).flatMap((problem) => renderProblem(problem, nowMs, { width, paint }));
  const hidden = problems.length - problemsShown;
  return hidden > 0 ? [...shown, "", `${hidden} more not shown.`] : shown;
}

function toProblem({ type, reason, title, message, since }: TopStatus["conditions"][number]): Problem {
  return { type, reason, title, message, since, severity: "warning", steps: [], consequences: [] };
}

function renderProblem(problem: Problem, nowMs: number, { width, paint }: Drawn): readonly string[] {
  const { severity, type, reason, title, message, since, steps, consequences } = problem;
  const lasted = formatDuration(nowMs - Date.parse(since));
  const follows = consequences.map((one) => one.title).join("; ");
  return [
    "",
    paint(["bold", colours[severity] ?? "yellow"], fit(`${title}, for ${lasted}`, width).trimEnd()),
    ...wrapIndented(`${type}: ${reason}. ${message}`, width, "  "),
    ...steps.flatMap((step, index) => renderStep(step, index + 1, { width, paint })),
    ...(follows === "" ? [] : wrapIndented(`Because of it: ${follows}.`, width, "  ")),
  ];
}

function renderStep({ text, command }: Problem["steps"][number], number: number, drawn: Drawn): readonly string[] {
  const lines = wrapIndented(text, drawn.width, "     ", `  ${number}. `);
  return command === undefined ? lines : [...lines, `     ${drawn.paint("cyan", formatPlain(command))}`];
}

function wrapIndented(text: string, width: number, indent: string, first = indent): readonly string[] {
  return wrap(text, width - indent.length).map((line, index) => `${index === 0 ? first : indent}${line}`);
}
