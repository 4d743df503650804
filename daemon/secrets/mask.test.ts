import { describe, expect, it } from "vitest";
import { truncateText, createMask, maskCredentials } from "./mask.ts";
import { Secret } from "./secret.ts";
import { measureCpuMs } from "../testing/thread-cpu.ts";

const key = "0123456789abcdef0123456789abcdef";

function masked(text: string, ...values: readonly unknown[]): string {
  const mask = createMask();
  for (const value of values) mask.hide(value);
  return mask.text(text);
}

describe("a mask", () => {
  it.each([
    ["postgres://shop:pw@db.example/shop", "postgres://[masked]@db.example/shop"],
    [
      "of https://token@rpc.example, twice: wss://a:b@rpc.example/x",
      "of https://[masked]@rpc.example, twice: wss://[masked]@rpc.example/x",
    ],
    ['{"url":"redis://:p%40ss@cache:6379"}', '{"url":"redis://[masked]@cache:6379"}'],
    ["http://u:p/w@h", "http://u:p/w@h"],
    ["mail@example.com or https://example.com/@user", "mail@example.com or https://example.com/@user"],
  ])("hides the credentials of any URL: %s", (text, shown) => {
    expect(maskCredentials(text)).toBe(shown);
    expect(masked(text)).toBe(shown);
  });

  it("takes time proportional to the text length, whatever the client wrote", () => {
    for (const part of ["a.", "a-", "://", "a://", "a://b:", "@", "a@", "://a@", "…", "a://b:…"]) {
      // Searching to the end from each of a million characters takes minutes.
      expect(measureCpuMs(() => masked(`${part.repeat(1_000_000 / part.length)}@…`))).toBeLessThan(2_000);
    }
  });

  it("hides a key in the path of a known URL, and nothing else in the path", () => {
    const url = `https://rpc.example/v3/${key}/notifications-of-everything`;
    expect(masked(`no answer from ${url}`, url)).toBe(
      "no answer from https://rpc.example/v3/[masked]/notifications-of-everything",
    );
    expect(masked(`POST /v3/${key}`, { references: [url] })).toBe("POST /v3/[masked]");
  });

  it("hides the parameters of a known URL, short ones only next to their names", () => {
    const url = `https://rpc.example/?apikey=abc&token=${key}&plain`;
    expect(masked(`GET ${url}`, url)).toBe("GET https://rpc.example/?apikey=[masked]&token=[masked]&plain");
    expect(masked(`token ${key}, abc`, url)).toBe("token [masked], abc");
  });

  it("hides only long passwords, in every encoding in which they are sent", () => {
    const url = "https://me:long%20and%20hard%22@rpc.example/";
    expect(masked('"long and hard\\"" long%20and%20hard%22', url)).toBe('"[masked]" [masked]');
    expect(masked(`Basic ${Buffer.from('me:long and hard"').toString("base64")}`, url)).toBe("Basic [masked]");
  });

  it("hides secrets, and URLs in them", () => {
    const url = new Secret("postgres://shop:a-long-password@db.example/shop");
    expect(masked("db.example rejected a-long-password", { ledger: { url } })).toBe("db.example rejected [masked]");
    expect(masked(`signed with ${key}`, new Secret(key))).toBe("signed with [masked]");
  });

  it("hides the start of a truncated secret", () => {
    const url = `https://me:long%20and%20hard%22@rpc.example/v3/${key}`;
    for (const most of [30, 40, 49]) {
      expect(masked(truncateText(`rejected: https://rpc.example/v3/${key}`, most), url)).toMatch(
        /^rejected: https:\/\/rpc\.ex[a-z./3]*(?:\[masked\])?…$/,
      );
    }
    expect(masked(JSON.stringify(truncateText(`unknown key ${key}, sorry`, 43)), url)).toBe('"unknown key [masked]…"');
    expect(masked(JSON.stringify([truncateText('no long and hard"er', 16), "no…"]), url)).toBe(
      '["no [masked]…","no…"]',
    );
    expect(masked(`${truncateText("http://else:password@where", 16)} of http://some.example:85…`)).toBe(
      "http://[masked]… of http://some.example:85…",
    );
  });

  it("keeps parts of other words", () => {
    expect(masked("postgres_up 1", "postgres://postgres:postgres@db/postgres")).toBe("postgres_up 1");
    expect(masked("http://127.0.0.1:8545/rpc", "http://127.0.0.1:8545/rpc")).toBe("http://127.0.0.1:8545/rpc");
  });
});

it("shows the path of a socket", () => {
  const mask = createMask();
  const socket = "/srv/gatehouse-production-2/docker.sock";
  mask.hide({ engine: `unix://${socket}` });
  expect(mask.text(`can't use unix://${socket} and ${socket}`)).toBe(`can't use unix://${socket} and ${socket}`);
});
