import type { Paint } from "#daemon/command-line/paint.ts";

/** Format of a part of the sheet: characters in a line, and colours. */
export type Drawn = Readonly<{ width: number; paint: Paint }>;
