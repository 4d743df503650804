import { z } from "zod";

/** How rude the node is: `standard` helps whoever develops against it, `strict` gives nothing that the specification does not promise. */
export const nodeProfile = z.enum(["standard", "strict"]);

export type NodeProfile = z.output<typeof nodeProfile>;

/** How long a strict node is at work before its ports open, if nothing else is set. */
export const strictOpensAfterSeconds = 120;
