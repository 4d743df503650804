import { z } from "zod";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { createPaint, type Paint } from "#daemon/command-line/paint.ts";
import { pause } from "#daemon/time.ts";
import { requestStatus } from "./request-status.ts";
import { formatPlain } from "./top/top-words.ts";
import {
  isRight,
  readFirstWords,
  statusCondition,
  statusHeadline,
  statusNode,
  statusVerdict,
} from "./status-shapes.ts";

export type StatusCommandOptions = Readonly<{
  /** The status listener of its sidecar or gateway, without a path. */
  url: string;
  /** Whether to print the listener's answer as it came, for programs. */
  json: boolean;
  /** Time between two shows, until `signal` aborts; undefined: once. */
  everyMs: number | undefined;
}>;

/** Most recent events that are shown. */
const eventsShown = 5;

const statusShape = z.object({
  at: z.iso.datetime(),
  right: z.boolean(),
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
  /** Of a sidecar; a gateway alone gives neither. */
  headline: statusHeadline.pick({ state: true, cause: true }).optional(),
  verdict: statusVerdict.optional(),
  events: z.array(z.object({ at: z.iso.datetime(), message: z.string() })).default([]),
});

type Status = z.output<typeof statusShape>;

/**
 * Shows a node's status in a terminal, as its sidecar or gateway reports it. Returns the exit status: 0 when all is right, 2 when something is not,
 * 1 when the listener could not be reached.
 */
export async function runStatusCommand(
  { url, json, everyMs }: StatusCommandOptions,
  output: CommandOutput,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    const code = await showOnce({ url, json }, output);
    if (everyMs === undefined) return code;
    await pause(everyMs, signal);
    if (signal.aborted) return code;
    output.out("\n");
  }
}

async function showOnce(
  { url, json }: Pick<StatusCommandOptions, "url" | "json">,
  output: CommandOutput,
): Promise<number> {
  const found = await requestStatus(url, statusShape);
  if (!found.ok) {
    output.error(`status: ${found.message}\n`);
    return exitStatus.error;
  }
  output.out(json ? `${JSON.stringify(found.raw, undefined, 2)}\n` : formatStatus(found.status, output.isColored));
  return isRight(found.status) ? exitStatus.clean : exitStatus.drift;
}

const marks = { True: "ok", False: "WRONG", Unknown: "?" } as const;
const colours = { True: "green", False: "red", Unknown: "yellow" } as const;

/** Formats a status: wrong conditions first, each with its time and what to do; right ones are counted. */
function formatStatus(status: Status, isColored: boolean): string {
  const { node, conditions, events } = status;
  const nowMs = Date.parse(status.at);
  const painted = createPaint(isColored);
  const paint: Paint = (format, text) => painted(format, formatPlain(text));
  const wrong = conditions.filter((condition) => condition.status !== "True");
  const { state, cause } = readFirstWords(status);
  const figures = [
    node.clientVersion,
    node.height === undefined ? undefined : `block ${node.height}`,
    node.latencyMs === undefined ? undefined : `answers in ${Math.round(node.latencyMs)} ms`,
    node.answers
      ? undefined
      : node.answeredAt === undefined
        ? "never answered"
        : `last answer ${formatAgo(node.answeredAt, nowMs)}`,
  ];
  const lines = [
    paint(["bold", isRight(status) ? "green" : "red"], state),
    ...(cause === undefined ? [] : [formatPlain(cause)]),
    "",
    formatPlain(`${node.name}  ${node.rpc}  ${figures.filter((figure) => figure !== undefined).join(", ")}`),
    ...wrong.flatMap((condition) => [
      "",
      `${paint(colours[condition.status], marks[condition.status].padEnd(6))}${paint("bold", condition.title)}, since ${condition.since} (${formatAgo(condition.since, nowMs)})`,
      formatPlain(`      ${condition.message}`),
    ]),
    "",
    `${conditions.length - wrong.length} of ${conditions.length} conditions are right.`,
    ...(events.length === 0 ? [] : ["", "Last events:"]),
    ...events.slice(0, eventsShown).map(({ at, message }) => formatPlain(`  ${at}  ${message}`)),
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
