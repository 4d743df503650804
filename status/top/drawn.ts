import type { Paint } from "#daemon/command-line/paint.ts";

/** How a part of the sheet is drawn: the characters in a line, and its colours. */
export type Drawn = Readonly<{ width: number; paint: Paint }>;
