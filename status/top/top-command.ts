import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { pause } from "#daemon/time.ts";
import { requestStatus } from "../request-status.ts";
import { isRight } from "../status-shapes.ts";
import { openScreen, type Terminal } from "./top-screen.ts";
import { renderSheet } from "./top-sheet.ts";
import { topStatus, type TopStatus } from "./top-status.ts";

export type TopCommandOptions = Readonly<{
  /** The status listener of its sidecar or gateway, without a path. */
  url: string;
  everyMs: number;
  /** Whether to print the listener's answer as it came, for programs. */
  json: boolean;
}>;

const plainWidth = 80;

/** Prints one sheet. Returns the exit status: 0 all is right, 2 something is not, 1 the listener could not be reached. */
export async function printTop(
  { url, json }: Omit<TopCommandOptions, "everyMs">,
  output: CommandOutput,
): Promise<number> {
  const answer = await requestStatus(url, topStatus);
  if (!answer.ok) {
    output.error(`top: ${answer.message}\n`);
    return exitStatus.error;
  }
  const { raw, status } = answer;
  const sheet = () => `${renderSheet(status, { width: plainWidth, isColored: output.isColored }).join("\n")}\n`;
  output.out(json ? `${JSON.stringify(raw, undefined, 2)}\n` : sheet());
  return isRight(status) ? exitStatus.clean : exitStatus.drift;
}

export type TopDependencies = Readonly<{
  terminal: Terminal;
  isColored: boolean;
  mask: Mask;
  /** Ends the watch, as the key q does. */
  signal: AbortSignal;
}>;

/**
 * Shows the node until a person ends it, and gives the terminal back. A listener that stops answering is shown as such over the last status;
 * one that has never answered ends the watch at once. Returns the exit status: 0 it was watched, 1 the listener could not be reached.
 */
export async function watchTop(
  { url, everyMs }: Omit<TopCommandOptions, "json">,
  { terminal, isColored, mask, signal }: TopDependencies,
  output: Pick<CommandOutput, "error">,
): Promise<number> {
  const first = await requestStatus(url, topStatus);
  if (!first.ok) {
    output.error(`top: ${first.message}\n`);
    return exitStatus.error;
  }
  using screen = openScreen(terminal);
  const ended = AbortSignal.any([signal, screen.ended]);
  let last: Readonly<{ status: TopStatus; atMs: number }> = { status: first.status, atMs: performance.now() };
  let why: string | undefined;
  const draw = () => {
    const silence = why === undefined ? undefined : { why, forMs: performance.now() - last.atMs };
    const sheet = renderSheet(last.status, { width: screen.width(), isColored, silence });
    const help = `Every ${everyMs / 1_000} s from ${url}. q ends.`;
    screen.draw(
      [...sheet, ""].map((line) => mask.text(line)),
      mask.text(help),
    );
  };
  screen.onResize(draw);
  while (!ended.aborted) {
    draw();
    await pause(everyMs, ended);
    if (ended.aborted) break;
    const answer = await requestStatus(url, topStatus);
    why = answer.ok ? undefined : answer.message;
    if (answer.ok) last = { status: answer.status, atMs: performance.now() };
  }
  return exitStatus.clean;
}
