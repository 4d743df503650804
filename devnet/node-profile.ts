import { hash } from "node:crypto";
import { z } from "zod";
import { findFamily, type NodeFamily } from "#node/families.ts";

/**
 * How the node behaves: `standard` is developer-friendly, `strict` provides only what the specification guarantees, `pharos` mimics the
 * public family's names, paths and behaviour.
 */
export const nodeProfile = z.enum(["standard", "strict", "pharos"]);

export type NodeProfile = z.output<typeof nodeProfile>;

export function findFamilyOfProfile(profile: NodeProfile): NodeFamily {
  return findFamily(profile === "pharos" ? "pharos" : "generic");
}

/** Derives the commit that a version's programs report: the family's own commit if the family's row lists the version, otherwise a made-up one. */
export function deriveCommit(version: string, { commits }: NodeFamily): string {
  const [known] = Object.entries(commits).find(([, release]) => release === version) ?? [];
  return known ?? hash("sha256", version).slice(0, commitDigits);
}

const commitDigits = 9;

/** Default time before a strict node opens its ports. */
export const strictOpensAfterSeconds = 120;
