import { createPaint, type Paint } from "#daemon/command-line/paint.ts";
import { readFirstWords } from "../status-shapes.ts";
import { renderProblems } from "./problem-lines.ts";
import { renderTrafficTable } from "./traffic-table.ts";
import type { TopStatus } from "./top-status.ts";
import type { Drawn } from "./drawn.ts";
import {
  formatAge,
  formatNumber,
  formatBytes,
  formatDuration,
  fit,
  formatPercent,
  formatPlain,
  wrap,
} from "./top-words.ts";

export type SheetOptions = Readonly<{
  /** Characters in a line. */
  width: number;
  isColored: boolean;
  /** Reason why the listener gives no answer now, and for how long; the status is the last one then. */
  silence?: Readonly<{ why: string; forMs: number }> | undefined;
}>;

/** Levels about which a person has nothing to do, or soon. */
const colours = {
  right: "green",
  working: "blue",
  waiting: "yellow",
  wrong: "yellow",
  unknown: "yellow",
  down: "red",
  held: "red",
} as const;

/** States whose duration matters. */
const timed: ReadonlySet<string> = new Set(["down", "held", "working"]);

/** Draws a node's status as the lines of `gatehouse top`. Pure. */
export function renderSheet(status: TopStatus, { width, isColored, silence }: SheetOptions): readonly string[] {
  const paint = createPaint(isColored);
  const nowMs = Date.parse(status.at) + (silence?.forMs ?? 0);
  return [
    ...renderSilence(silence, width, paint),
    paint("dim", renderName(status, width)),
    "",
    ...renderHeadline(status, nowMs, { width, paint }),
    "",
    ...renderFigures(status, nowMs, { width, paint, isStale: silence !== undefined }),
    ...renderProblems(status, nowMs, { width, paint }),
    ...renderTraffic(status, width, paint),
  ];
}

function renderSilence(silence: SheetOptions["silence"], width: number, paint: Paint): readonly string[] {
  if (silence === undefined) return [];
  const text = `No answer for ${formatDuration(silence.forMs)}; what is below is old. ${silence.why}`;
  return [...wrap(text, width).map((line) => paint(["bold", "red"], line)), ""];
}

function renderName({ node, at }: TopStatus, width: number): string {
  const time = `${at.slice(11, 19)} UTC`;
  const name = [node.name, node.rpc, node.clientVersion].filter((part) => part !== undefined).join("  ");
  return `${fit(name, width - time.length - 2)}  ${time}`;
}

function renderHeadline(status: TopStatus, nowMs: number, { width, paint }: Drawn): readonly string[] {
  const { headline, verdict } = status;
  const level = verdict?.level ?? (status.right ? "right" : "wrong");
  const { state, cause = describeConditions(status) } = readFirstWords(status);
  const isTimed = timed.has(level) && headline?.since !== undefined;
  const more = headline?.beganEarlier === true ? "more than " : "";
  const lasted = isTimed ? ` for ${more}${formatDuration(nowMs - Date.parse(headline.since ?? status.at))}` : "";
  return [paint(["bold", colours[level]], formatPlain(state) + lasted), ...wrap(cause, width)];
}

function describeConditions({ conditions }: TopStatus): string {
  const passing = conditions.filter(({ status }) => status === "True").length;
  return `${passing} of ${conditions.length} conditions are right.`;
}

type Figure = Readonly<{ term: string; value: string; isBad?: boolean; isOld?: boolean }>;

function renderFigures(
  status: TopStatus,
  nowMs: number,
  { width, paint, isStale }: Drawn & Readonly<{ isStale: boolean }>,
): readonly string[] {
  const figures = listFigures(status, nowMs);
  const column = Math.floor(width / 2);
  const cells = figures.map(({ term, value, isBad, isOld }) => {
    const text = `${fit(`${term.padEnd(15)}${value}`, column - 1)} `;
    if (isBad === true) return paint("red", text);
    return isOld === true || isStale ? paint("dim", text) : text;
  });
  return Array.from({ length: Math.ceil(cells.length / 2) }, (_, row) =>
    cells
      .slice(row * 2, row * 2 + 2)
      .join("")
      .trimEnd(),
  );
}

function listFigures({ node, figures, conditions }: TopStatus, nowMs: number): readonly Figure[] {
  const { lastBlock, rpc, gateway, restarts, disk } = figures;
  const isDiskLow = conditions.some(({ type, status }) => type === "DiskSpaceLeft" && status === "False");
  const block =
    lastBlock === undefined
      ? {
          value: node.height === undefined ? "not known" : formatNumber(node.height) + markOld(!node.answers),
          isOld: !node.answers,
        }
      : {
          value: `${formatNumber(lastBlock.height)}, ${formatAge(nowMs - Date.parse(lastBlock.at))} ago`,
          isOld: lastBlock.old,
        };
  const latencyMs = rpc === undefined ? node.latencyMs : rpc.latencyMs;
  const answer = latencyMs === undefined ? "no answer yet" : `${latencyMs < 1 ? "<1" : formatNumber(latencyMs)} ms`;
  const isSilent = rpc?.failure !== undefined || (rpc === undefined && !node.answers);
  return [
    { term: "Last block", ...block },
    { term: "RPC", value: rpc?.failure ?? (isSilent ? "no answer" : answer), isBad: isSilent },
    ...(gateway === undefined
      ? []
      : [
          {
            term: "Requests",
            value: `${formatNumber(gateway.requestsPerSecond)}/s${markOld(gateway.old)}`,
            isOld: gateway.old,
          },
          {
            term: "Errors",
            value: `${formatPercent(gateway.errorRatio)}, ${formatNumber(gateway.limitedPerSecond)}/s limited`,
            isBad: gateway.errorRatio >= 0.01,
          },
        ]),
    ...(restarts === undefined
      ? []
      : [
          {
            term: "Restarts left",
            value: `${restarts.left} of ${restarts.perHour} per hour`,
            isBad: restarts.left === 0 && restarts.perHour > 0,
          },
        ]),
    ...(disk === undefined
      ? []
      : [
          {
            term: "Disk free",
            value: `${formatPercent(disk.freeRatio)}, ${formatBytes(disk.freeBytes)}${markOld(disk.old)}`,
            isBad: isDiskLow,
            isOld: disk.old,
          },
        ]),
  ];
}

function markOld(isOld: boolean): string {
  return isOld ? ", old" : "";
}

function renderTraffic({ traffic }: TopStatus, width: number, paint: Paint): readonly string[] {
  if (traffic === undefined) return [];
  if (traffic.byMethod.length === 0) return ["", "No calls in the last minute."];
  const limited = traffic.limited.map(
    ({ tier, limit, perMinute }) => `${tier} by ${limit}, ${formatNumber(perMinute)}/min`,
  );
  return [
    "",
    ...renderTrafficTable(traffic, width, (header) => paint("bold", header)),
    ...(limited.length === 0
      ? []
      : wrap(`Limited: ${limited.join("; ")}.`, width).map((line) => paint("yellow", line))),
  ];
}
