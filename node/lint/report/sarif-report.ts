import type { Location, Log, Notification, ReportingDescriptor, Result } from "sarif";
import { type LintFinding, lintRules } from "../lint-rules.ts";
import type { LintedFile } from "./lint-document.ts";
import { findLocationInRepository } from "./repository-location.ts";

export type SarifOptions = Readonly<{
  toolVersion: string;
  /** URL of the directory `docs/`, with or without a trailing slash. */
  docsUrl: string;
  repository: string;
  exitStatus: number;
}>;

const names = Object.keys(lintRules);

/**
 * Formats findings as SARIF 2.1.0 (OASIS Standard, 2020), for code scanning and editors. Includes nothing machine-specific: a file gives
 * the same log anywhere.
 */
export function formatSarifReport(files: readonly LintedFile[], options: SarifOptions): Log {
  const page = `${options.docsUrl.replace(/\/+$/, "")}/lint.md`;
  const notifications = files.flatMap((file): Notification[] => {
    if (file.error === undefined) return [];
    const text = `${file.configPath} can't be read (${file.error}); expected a node's configuration file.`;
    return [{ level: "error", message: { text }, locations: [buildLocation(file, options)] }];
  });
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "gatehouse config lint",
            semanticVersion: options.toolVersion,
            informationUri: page,
            rules: Object.entries(lintRules).map(([id, words]) => buildDescriptor(id, words, page)),
          },
        },
        columnKind: "utf16CodeUnits",
        invocations: [
          {
            executionSuccessful: notifications.length === 0,
            exitCode: options.exitStatus,
            toolExecutionNotifications: notifications,
          },
        ],
        results: files.flatMap((file) => file.findings.map((finding) => buildResult(finding, file, options))),
      },
    ],
  };
}

function buildDescriptor(
  id: string,
  { level, summary }: (typeof lintRules)[keyof typeof lintRules],
  page: string,
): ReportingDescriptor {
  const helpUri = `${page}#${id}`;
  return {
    id,
    shortDescription: { text: summary },
    help: { text: `${summary} ${helpUri}` },
    helpUri,
    defaultConfiguration: { level },
  };
}

function buildResult(finding: LintFinding, file: LintedFile, options: SarifOptions): Result {
  const { rule, line, column, path, message, fix } = finding;
  const location = buildLocation(file, options);
  const subject = path === "" ? message : `${path} ${message}`;
  return {
    ruleId: rule,
    ruleIndex: names.indexOf(rule),
    level: lintRules[rule].level,
    message: { text: `${subject} Fix: ${fix}` },
    locations: [
      {
        physicalLocation: { ...location.physicalLocation, region: { startLine: line, startColumn: column } },
        ...(path === "" ? {} : { logicalLocations: [{ fullyQualifiedName: path, kind: "property" }] }),
      },
    ],
  };
}

function buildLocation({ configPath }: LintedFile, { repository }: SarifOptions): Location {
  const { uri, isRelative } = findLocationInRepository(configPath, repository);
  // The consumer knows its checkout directory, which may be on another machine.
  const artifactLocation = isRelative ? { uri, uriBaseId: "%SRCROOT%" } : { uri };
  return { physicalLocation: { artifactLocation } };
}
