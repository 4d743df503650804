import { z } from "zod";

/** Strictness of the node: `standard` helps whoever develops against it, `strict` gives nothing that the specification does not promise. */
export const nodeProfile = z.enum(["standard", "strict"]);

export type NodeProfile = z.output<typeof nodeProfile>;

/** Default time before a strict node opens its ports. */
export const strictOpensAfterSeconds = 120;
