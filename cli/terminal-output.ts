import type { Mask } from "#daemon/mask.ts";

/** Where a command of a person's terminal writes, without what may not be shown, and whether colours are welcome (https://no-color.org). */
export function createTerminalOutput({ mask }: Readonly<{ mask: Mask }>) {
  return {
    out: (text: string) => void process.stdout.write(mask.text(text)),
    error: (text: string) => void process.stderr.write(mask.text(text)),
    isColored: process.stdout.isTTY && !process.env["NO_COLOR"],
  } as const;
}
