import { hash } from "node:crypto";
import { z } from "zod";
import { findFamily, type NodeFamily } from "#node/families.ts";

/**
 * Manners of the node: `standard` helps whoever develops against it, `strict` gives nothing that the specification does not promise, `pharos` has the names,
 * places and manners of the public family.
 */
export const nodeProfile = z.enum(["standard", "strict", "pharos"]);

export type NodeProfile = z.output<typeof nodeProfile>;

/** Finds the family that a node of a profile is of. */
export function findFamilyOfProfile(profile: NodeProfile): NodeFamily {
  return findFamily(profile === "pharos" ? "pharos" : "generic");
}

/** Derives the commit that a version's programs say they were built from: the family's own for a version that its row names, else a made-up one. */
export function deriveCommit(version: string, { commits }: NodeFamily): string {
  const [known] = Object.entries(commits).find(([, release]) => release === version) ?? [];
  return known ?? hash("sha256", version).slice(0, commitDigits);
}

const commitDigits = 9;

/** Default time before a strict node opens its ports. */
export const strictOpensAfterSeconds = 120;
