import { stripVTControlCharacters } from "node:util";
import type { ReadStream, WriteStream } from "node:tty";

/** The terminal that the sheet is drawn on and keys are read from. */
export type Terminal = Readonly<{
  input: Pick<ReadStream, "isTTY" | "setRawMode" | "on" | "off" | "resume" | "pause">;
  output: Pick<WriteStream, "columns" | "rows" | "write" | "on" | "off">;
}>;

/** A separate screen over what the terminal showed before. Disposing of it brings that back. */
export type Screen = Disposable &
  Readonly<{
    /** Characters in a line. */
    width: () => number;
    /** Shows the lines from the top on, as many as there is room for, and the last line always. */
    draw: (lines: readonly string[], lastLine: string) => void;
    /** Calls back when the terminal has another size. */
    onResize: (redraw: () => void) => void;
    /** Aborts when a person requests the end: q, Ctrl-C, or Ctrl-D. */
    ended: AbortSignal;
  }>;

const escape = "\u001b[";
/** The alternate screen, and no cursor (xterm control sequences, DECSET 1049 and 25). */
const enter = `${escape}?1049h${escape}?25l`;
const leave = `${escape}?25h${escape}?1049l`;
const home = `${escape}H`;
const clearLine = `${escape}K`;
const clearBelow = `${escape}J`;

/** q, and what Ctrl-C and Ctrl-D type on a terminal in raw mode. */
const endKeys: ReadonlySet<string> = new Set(["q", "Q", "\u0003", "\u0004"]);

const defaultSize = { columns: 80, rows: 24 };

/** Columns up to which a line is easy to read. */
const columnsMax = 120;

/** Takes the terminal over. It is given back at the end of the process, too, however that comes. */
export function openScreen({ input, output }: Terminal): Screen {
  const ending = new AbortController();
  const listen = (bytes: Uint8Array | string) => {
    if ([...bytes.toString()].some((key) => endKeys.has(key))) ending.abort();
  };
  let redraw: (() => void) | undefined;
  const resized = () => redraw?.();
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    if (input.isTTY) input.setRawMode(false);
    output.write(leave);
  };
  if (input.isTTY) {
    input.setRawMode(true);
    input.on("data", listen);
    input.resume();
  }
  output.on("resize", resized);
  process.once("exit", close);
  output.write(enter);
  return {
    width: () => Math.min(output.columns || defaultSize.columns, columnsMax),
    draw: (lines, lastLine) => {
      const { columns, rows } = {
        columns: output.columns || defaultSize.columns,
        rows: output.rows || defaultSize.rows,
      };
      const shown = [...listFitting(lines, { columns, rows: rows - 1 }), lastLine].map((line) => `${line}${clearLine}`);
      output.write(`${home}${shown.join("\r\n")}${clearBelow}`);
    },
    onResize: (callback) => {
      redraw = callback;
    },
    ended: ending.signal,
    [Symbol.dispose]: () => {
      process.off("exit", close);
      output.off("resize", resized);
      input.off("data", listen);
      input.pause();
      close();
    },
  };
}

/** Lists the first lines that fit; the terminal breaks a long one, such as a command, so that it can be copied whole. */
function listFitting(lines: readonly string[], { columns, rows }: typeof defaultSize): readonly string[] {
  let left = rows;
  const first = lines.findIndex((line) => {
    left -= Math.max(1, Math.ceil(stripVTControlCharacters(line).length / columns));
    return left < 0;
  });
  return first === -1 ? lines : lines.slice(0, first);
}
