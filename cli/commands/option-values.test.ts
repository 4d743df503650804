import { InvalidArgumentError } from "@commander-js/extra-typings";
import { describe, expect, it } from "vitest";
import {
  parseDirectory,
  parseIntervalSeconds,
  parseLimitSeconds,
  parseListenPort,
  parseListenerUrl,
  parseLongLimitSeconds,
  parsePort,
} from "./option-values.ts";

const numbers = [
  {
    parse: parsePort,
    takes: ["1", "9610", "65535"],
    rejects: ["0", "65536"],
    from: "a port, a whole number from 1 to 65535",
  },
  {
    parse: parseListenPort,
    takes: ["0", "65535"],
    rejects: ["-1", "65536"],
    from: "a port, a whole number from 0 to 65535",
  },
  {
    parse: parseLimitSeconds,
    takes: ["1", "604800"],
    rejects: ["0", "604801"],
    from: "whole seconds from 1 to 604800",
  },
  {
    parse: parseLongLimitSeconds,
    takes: ["120"],
    rejects: ["119", "604801"],
    from: "whole seconds from 120 to 604800",
  },
];

describe.each(numbers)("$parse.name", ({ parse, takes, rejects, from }) => {
  it.each(takes)("accepts %s", (text) => {
    expect(parse(text)).toBe(Number(text));
  });

  it.each([...rejects, "", " ", "1.5", "x"])("rejects %j and reports the expected form", (text) => {
    expect(() => parse(text)).toThrow(new InvalidArgumentError(`Expected ${from}.`));
  });
});

describe("parseIntervalSeconds", () => {
  it.each(["1", "2.5", "3600"])("accepts %s", (text) => {
    expect(parseIntervalSeconds(text)).toBe(Number(text));
  });

  it.each(["0.5", "3601", "", "x"])("rejects %j", (text) => {
    expect(() => parseIntervalSeconds(text)).toThrow("Expected seconds, a number from 1 to 3600.");
  });
});

describe("parseDirectory", () => {
  it("accepts a path, but not one that a shell left unexpanded, as in --state-dir=~/x", () => {
    expect(parseDirectory("./~x")).toBe("./~x");
    expect(() => parseDirectory("~/x")).toThrow(
      'only a shell expands "~", at the start of a word; write the whole path, from "/" on.',
    );
  });
});

describe("parseListenerUrl", () => {
  it.each(["http://10.0.0.7:9600", "https://node-7.example"])("accepts %s", (url) => {
    expect(parseListenerUrl(url)).toBe(url);
  });

  it.each(["10.0.0.7:9600", "ws://10.0.0.7:9600", ""])("rejects %j", (url) => {
    expect(() => parseListenerUrl(url)).toThrow("Expected an http:// or https:// URL such as http://127.0.0.1:9600.");
  });
});
