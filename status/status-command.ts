import { z } from "zod";
import { exitStatus, type CommandOutput, createPaint, type Paint } from "#daemon/command-line/command-output.ts";
import { pause } from "#daemon/time.ts";
import { requestStatus } from "./request-status.ts";
import { needsNoAction, statusCondition, statusHeadline, statusNode, statusVerdict } from "./status-shapes.ts";

export type StatusTarget = Readonly<{
  name: string;
  url: string;
  /** The URL without credentials. */
  shownUrl: string;
}>;

export type StatusCommandOptions = Readonly<{
  /** One listener, or several, shown one below the other. */
  where: string | readonly StatusTarget[];
  /** Whether to print JSON for programs: the listener's raw response; a list for several listeners. */
  json: boolean;
  /** Refresh interval until `signal` aborts; if undefined, the status is shown once. */
  everyMs: number | undefined;
}>;

const eventsShown = 5;

const statusShape = z.object({
  at: z.iso.datetime(),
  healthy: z.boolean(),
  node: statusNode.pick({
    name: true,
    rpc: true,
    height: true,
    latencyMs: true,
    clientVersion: true,
    answers: true,
    answeredAt: true,
  }),
  conditions: z.array(statusCondition.pick({ title: true, status: true, message: true, since: true })),
  headline: statusHeadline.pick({ state: true, cause: true }),
  verdict: statusVerdict,
  events: z.array(z.object({ at: z.iso.datetime(), message: z.string() })).default([]),
});

type Status = z.output<typeof statusShape>;

/**
 * Shows the status of one or more nodes in a terminal, as reported by their sidecars or gateways. Returns the exit status: 0 if everything
 * is healthy, 2 if something is not, 1 if a listener could not be reached.
 */
export async function runStatusCommand(
  { where, json, everyMs }: StatusCommandOptions,
  output: CommandOutput,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    const code = typeof where === "string" ? await showOne(where, json, output) : await showEach(where, json, output);
    if (everyMs === undefined) return code;
    await pause(everyMs, signal);
    if (signal.aborted) return code;
    output.out("\n");
  }
}

async function showOne(url: string, json: boolean, output: CommandOutput): Promise<number> {
  const found = await requestStatus(url, statusShape);
  if (!found.ok) {
    output.error(`status: ${found.message}\n`);
    return exitStatus.error;
  }
  const { raw, status } = found;
  output.out(json ? formatJson(raw) : formatStatus(status, { isColored: output.isColored, events: eventsShown }));
  return needsNoAction(status) ? exitStatus.clean : exitStatus.drift;
}

async function showEach(targets: readonly StatusTarget[], json: boolean, output: CommandOutput): Promise<number> {
  const { isColored } = output;
  const found = await Promise.all(
    targets.map(async (target) => ({ target, answer: await requestStatus(target.url, statusShape, "--targets") })),
  );
  if (json) {
    const listed = found.map(({ target: { name, shownUrl: url }, answer }) =>
      answer.ok ? { name, url, status: answer.raw } : { name, url, message: answer.message },
    );
    output.out(formatJson(listed));
  }
  for (const [index, { target, answer }] of found.entries()) {
    if (!json) {
      const title = createPaint(isColored)("bold", formatPlain(`${target.name}  ${target.shownUrl}`));
      output.out(`${index === 0 ? "" : "\n"}${title}\n`);
      if (answer.ok) output.out(formatStatus(answer.status, { isColored, events: 0 }));
    }
    if (!answer.ok) output.error(`status: ${target.name}: ${answer.message}\n`);
  }
  if (found.some(({ answer }) => !answer.ok)) return exitStatus.error;
  return found.every(({ answer }) => answer.ok && needsNoAction(answer.status)) ? exitStatus.clean : exitStatus.drift;
}

function formatJson(document: unknown): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** Control characters with which a text could manipulate a terminal: text from the node must only be displayed. */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function formatPlain(text: string): string {
  return text.replaceAll(steering, " ");
}

const marks = { True: "ok", False: "WRONG", Unknown: "?" } as const;
const colours = { True: "green", False: "red", Unknown: "yellow" } as const;

/** Formats a status. Conditions that are not met come first, each with its time and remedy; those that are met are only counted. */
function formatStatus(
  status: Status,
  { isColored, events: shown }: Readonly<{ isColored: boolean; events: number }>,
): string {
  const { node, conditions } = status;
  const events = status.events.slice(0, shown);
  const nowMs = Date.parse(status.at);
  const painted = createPaint(isColored);
  const paint: Paint = (format, text) => painted(format, formatPlain(text));
  const wrong = conditions.filter((condition) => condition.status !== "True");
  const { state, cause } = status.headline;
  const figures = [
    node.clientVersion,
    node.height === undefined ? undefined : `block ${node.height}`,
    node.latencyMs === undefined ? undefined : `responds in ${Math.round(node.latencyMs)} ms`,
    node.answers
      ? undefined
      : node.answeredAt === undefined
        ? "never responded"
        : `last response ${formatAgo(node.answeredAt, nowMs)}`,
  ];
  const lines = [
    paint(["bold", needsNoAction(status) ? "green" : "red"], state),
    formatPlain(cause),
    "",
    formatPlain(`${node.name}  ${node.rpc}  ${figures.filter((figure) => figure !== undefined).join(", ")}`),
    ...wrong.flatMap((condition) => [
      "",
      `${paint(colours[condition.status], marks[condition.status].padEnd(6))}${paint("bold", condition.title)}, since ${condition.since} (${formatAgo(condition.since, nowMs)})`,
      formatPlain(`      ${condition.message}`),
    ]),
    "",
    `${conditions.length - wrong.length} of ${conditions.length} conditions are healthy.`,
    ...(events.length === 0 ? [] : ["", "Last events:"]),
    ...events.map(({ at, message }) => formatPlain(`  ${at}  ${message}`)),
  ];
  return `${lines.join("\n")}\n`;
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** Formats the time since `at` in its largest unit, e.g. `5 minutes ago`. */
function formatAgo(at: string, nowMs: number): string {
  const passedMs = Math.max(0, nowMs - Date.parse(at));
  const [unit, unitMs] = units.find(([, ms]) => passedMs >= ms) ?? ["second", 1_000];
  return new Intl.RelativeTimeFormat("en").format(-Math.floor(passedMs / unitMs), unit);
}
