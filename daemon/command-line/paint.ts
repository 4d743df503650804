import { styleText } from "node:util";

/** Colours a text as far as the terminal may be coloured; without colours the text stays as it is. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

/** Creates a function that colours texts, or leaves them as they are. */
export function createPaint(isColored: boolean): Paint {
  return (format, text) => (isColored ? styleText(format, text, { validateStream: false }) : text);
}
