import { z } from "zod";

/** A schema issue, before or after the schema library has added a message. */
type Issue = z.core.$ZodIssue | z.core.$ZodRawIssue;

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  bigint: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  set: "a list",
  object: "an object { … }",
  record: "an object { … }",
  map: "an object { … }",
  date: "a date",
  null: "null",
  undefined: "nothing",
  never: "nothing",
  nan: "no number",
};

const units: Readonly<Record<string, readonly [one: string, more: string]>> = {
  string: ["character", "characters"],
  array: ["item", "items"],
  set: ["item", "items"],
  map: ["entry", "entries"],
  object: ["entry", "entries"],
  file: ["byte", "bytes"],
};

function formatCount(count: number | bigint, [one, more]: readonly [string, string]): string {
  return `${count} ${Number(count) === 1 ? one : more}`;
}

/** The expected value, or for other issues, the problem. */
type Requirement = Readonly<{ expected: string } | { wrong: string }>;

const anotherValue: Requirement = { expected: "another value" };

/** Describes a valid value in plain words, e.g. `expected a whole number`. Covers every issue code of the schema library. */
export function describeExpected(issue: Issue): string {
  return formatRequirement(readRequirement(issue));
}

function formatRequirement(requirement: Requirement): string {
  return "expected" in requirement ? `expected ${requirement.expected}` : requirement.wrong;
}

function readRequirement(issue: Issue): Requirement {
  switch (issue.code) {
    case "invalid_type":
      return { expected: typeNames[String(issue.expected)] ?? String(issue.expected) };
    case "invalid_value":
      return {
        expected: formatAlternatives((issue.values as readonly unknown[]).map((value) => JSON.stringify(value))),
      };
    case "too_small":
      return { expected: describeMinimum(issue as z.core.$ZodIssueTooSmall) };
    case "too_big":
      return { expected: describeMaximum(issue as z.core.$ZodIssueTooBig) };
    case "not_multiple_of":
      return { expected: `a multiple of ${String(issue.divisor)}` };
    case "invalid_format":
      return { expected: describeFormat(issue as z.core.$ZodIssueInvalidStringFormat) };
    case "unrecognized_keys":
      return {
        wrong: `no such key: ${(issue.keys as readonly string[]).map((key) => JSON.stringify(key)).join(", ")}; correct or remove it`,
      };
    case "invalid_key":
    case "invalid_element":
      return readInner((issue as z.core.$ZodIssueInvalidKey).issues);
    case "invalid_union":
      return readUnion(issue as z.core.$ZodIssueInvalidUnion);
    case "custom":
      return issue.message === undefined || issue.message === fallback ? anotherValue : { wrong: issue.message };
    default:
      return anotherValue;
  }
}

/** Text for a value whose schema doesn't say why it is invalid. */
export const fallback = formatRequirement(anotherValue);

/** Describes the schema issues in a file: one sentence per issue, starting with its position in the file. */
export function describeFileIssues(issues: readonly z.core.$ZodIssue[]): readonly string[] {
  return issues.map(({ path, message }) => `${path.map(String).join(".") || "the file"}: ${message}.`);
}

/** Describes the expected and the actual value; used by the schema library in every process that reads settings. */
function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.code !== "invalid_type") return describeExpected(issue);
  if (issue.expected === "int" && typeof issue.input === "number") return describeExpected(issue);
  if (issue.input === undefined) return `missing; ${describeExpected(issue)}`;
  const found = typeNames[z.core.util.parsedType(issue.input)];
  return found === undefined ? describeExpected(issue) : `${describeExpected(issue)}, not ${found}`;
}

z.config({ localeError: describeIssue });

function describeMinimum({ origin, minimum, inclusive, exact }: z.core.$ZodIssueTooSmall): string {
  const unit = units[origin];
  if (unit === undefined) return inclusive === false ? `more than ${minimum}` : `${minimum} or more`;
  if (exact === true) return `exactly ${formatCount(minimum, unit)}`;
  return minimum === 1 && origin === "string" ? "text that is not empty" : `at least ${formatCount(minimum, unit)}`;
}

function describeMaximum({ origin, maximum, inclusive, exact }: z.core.$ZodIssueTooBig): string {
  const unit = units[origin];
  if (unit === undefined) return inclusive === false ? `less than ${maximum}` : `${maximum} or less`;
  return exact === true ? `exactly ${formatCount(maximum, unit)}` : `at most ${formatCount(maximum, unit)}`;
}

const formats: Readonly<Record<string, string>> = {
  url: "a URL",
  email: "an email address",
  uuid: "a UUID",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  cidrv4: "an IPv4 range such as 10.0.0.0/8",
  cidrv6: "an IPv6 range such as fd00::/8",
  datetime: "a time such as 2026-01-31T12:00:00Z",
  date: "a date such as 2026-01-31",
  base64: "base64",
  base64url: "base64url",
  json_string: "JSON",
};

function describeFormat(issue: z.core.$ZodIssueInvalidStringFormat): string {
  const {
    prefix,
    suffix,
    includes,
    pattern,
  }: Readonly<{ prefix?: string; suffix?: string; includes?: string }> & z.core.$ZodIssueInvalidStringFormat = issue;
  if (issue.format === "starts_with") return `text that begins with "${prefix}"`;
  if (issue.format === "ends_with") return `text that ends with "${suffix}"`;
  if (issue.format === "includes") return `text with "${includes}" in it`;
  return formats[issue.format] ?? `text of the form ${pattern}`;
}

function readUnion(issue: z.core.$ZodIssueInvalidUnion): Requirement {
  const { options } = issue as Readonly<{ options?: readonly unknown[] }>;
  if (options !== undefined && options.length > 0) {
    return { expected: formatAlternatives(options.map((option) => JSON.stringify(option))) };
  }
  const ways = issue.errors.map(readInner).map((way) => ("expected" in way ? way.expected : way.wrong));
  return ways.length === 0 ? anotherValue : { expected: formatAlternatives([...new Set(ways)]) };
}

function readInner(issues: readonly Issue[]): Requirement {
  const [first] = issues;
  if (first === undefined) return anotherValue;
  const at = first.path === undefined || first.path.length === 0 ? "" : ` at ${first.path.map(String).join(".")}`;
  const requirement = readRequirement(first);
  return "expected" in requirement
    ? { expected: `${requirement.expected}${at}` }
    : { wrong: `${requirement.wrong}${at}` };
}

function formatAlternatives(words: readonly string[]): string {
  return words.length < 3 ? words.join(" or ") : `one of ${words.join(", ")}`;
}
