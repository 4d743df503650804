import { z } from "zod";

export type PageLink = Readonly<{ name: string; url: string }>;

const form = /^(?<name>[^=\s,]{1,64})=(?<url>https?:\/\/[^\s,@]+)$/;

export const pageLinks = z
  .array(z.string().regex(form))
  .max(64)
  .default([])
  .describe("Links on the status page, each name=URL, such as overview=http://127.0.0.1:9610")
  .meta({ expected: "up to 64 of name=URL, without a password, separated by commas" });

export function listPageLinks(pages: readonly string[]): readonly PageLink[] {
  return pages.map((page) => {
    const { name = "", url = "" } = form.exec(page)?.groups ?? {};
    return { name, url };
  });
}
