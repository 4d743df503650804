import type { styleText } from "node:util";

/** Colours a text, where colours are welcome. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

/** How a part of the sheet is drawn: the characters in a line, and its colours. */
export type Drawn = Readonly<{ width: number; paint: Paint }>;
