import { z } from "zod";
import { lintRules, type LintRule } from "../lint-rules.ts";

const position = z.int().min(1);
const finding = z
  .strictObject({
    rule: z.enum(Object.keys(lintRules) as LintRule[]).describe("Rule; docs/lint.md has a heading for each"),
    line: position,
    column: position.describe("counted from 1, in UTF-16 code units"),
    path: z.string().describe("Keys joined by dots, e.g. chain.monitor_config; empty for the file as a whole"),
    message: z.string().describe("what is wrong; contains no secret"),
    fix: z.string().describe("what to do"),
  })
  .readonly();
const file = z
  .strictObject({
    configPath: z.string().describe("As specified; - is standard input"),
    findings: z.array(finding).readonly(),
    error: z.string().optional().describe("Why the file could not be read; there are then no findings"),
  })
  .readonly();

/** Document printed by `gatehouse config lint --format json`. Within a major version, fields are only added, never renamed or removed. */
export const lintDocument = z
  .strictObject({
    configPath: file.unwrap().shape.configPath.optional().describe("For a single file: that file's value"),
    findings: file.unwrap().shape.findings.optional().describe("For a single file: that file's value"),
    files: z.array(file).min(1).readonly().describe("Each file, in the given order"),
  })
  .readonly();

export type LintDocument = z.output<typeof lintDocument>;
export type LintedFile = LintDocument["files"][number];
