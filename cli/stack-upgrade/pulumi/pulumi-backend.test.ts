import { describe, expect, it } from "vitest";
import { explainBackendMismatch, identifyBackend } from "./pulumi-backend.ts";

const cloud = identifyBackend("https://app.pulumi.com/ci-bot");
const explain = (needed: string, found = "https://app.pulumi.com/alice") =>
  explainBackendMismatch(identifyBackend(needed), identifyBackend(found));

describe("a backend of Pulumi", () => {
  it("is the same Pulumi Cloud whoever is logged in", () => {
    expect(identifyBackend("https://app.pulumi.com/alice")).toEqual(cloud);
    expect(identifyBackend("https://app.pulumi.com")).toEqual(cloud);
    expect(identifyBackend("https://user:pw@app.pulumi.com/?token=pw")).toEqual(cloud);
    expect(cloud.shown).toBe("https://app.pulumi.com");
  });

  it("is another one on another host, with words in place of a command that Pulumi refuses", () => {
    expect(identifyBackend("https://pulumi.example:8443/ci-bot")).not.toEqual(cloud);
    expect(explain("https://pulumi.example:8443/ci-bot")).toBe(
      "it was begun over https://pulumi.example:8443, and Pulumi is logged in to https://app.pulumi.com: log in to the Pulumi Cloud of https://pulumi.example:8443",
    );
  });

  it("is known by its options too, which are not shown", () => {
    const [one, other] = ["s3://b/state?region=x&awssdk=v2", "s3://b/state?region=y&awssdk=v2"];
    expect(identifyBackend(one)).toEqual(identifyBackend(one));
    expect(identifyBackend(one).sha256).not.toBe(identifyBackend(other).sha256);
    expect(explain(one, other)).toBe(
      "it was begun over s3://b/state, and Pulumi is logged in to the same with another user or other options: log in to it with pulumi login, or set PULUMI_BACKEND_URL",
    );
  });

  it("is the same one with another password, and not with another user", () => {
    const known = identifyBackend("postgres://user:one@host/db");
    expect(identifyBackend("postgres://user:two@host/db")).toEqual(known);
    expect(identifyBackend("postgres://other:one@host/db")).not.toEqual(known);
  });

  it.each([
    ["postgres://user:secret@host:5432/db?password=secret", "postgres://host:5432/db"],
    ["postgres://user:secret#@host/db", "postgres:…"],
    ["file://user:secret@host/srv", "file:…"],
    ["secret", "unknown:…"],
  ])("%s is kept and printed without the password", (address, shown) => {
    const known = identifyBackend(address);
    expect(known.shown).toBe(shown);
    expect(JSON.stringify(known)).not.toContain("secret");
    const printed = explain(address) + explain("s3://b", address);
    expect(printed).not.toMatch(/secret|user:|login file/);
  });

  it.each([
    ["file:///srv/state", "file:///srv/state"],
    ["file:///srv/our state?no_tmp_dir=true", "'file:///srv/our state?no_tmp_dir=true'"],
  ])("in a directory has a command: %s", (address, word) => {
    expect(explain(address)).toMatch(new RegExp(`: pulumi login ${RegExp.escape(word)}$`));
  });
});
