import { styleText } from "node:util";

/** Colours text if the terminal supports it; otherwise returns the text unchanged. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

export function createPaint(isColored: boolean): Paint {
  return (format, text) => (isColored ? styleText(format, text, { validateStream: false }) : text);
}
