import { styleText } from "node:util";

/** Colours a text if the terminal supports it; otherwise returns the text unchanged. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

/** Creates a function that colours texts, or returns them unchanged. */
export function createPaint(isColored: boolean): Paint {
  return (format, text) => (isColored ? styleText(format, text, { validateStream: false }) : text);
}
