import { expect, test } from "vitest";
import { formatCsv } from "./export-ledger.ts";

test("quotes records by RFC 4180, and escapes spreadsheet formulas", () => {
  expect(formatCsv(["a", 'say "so"', "x,y", "two\r\nlines", ""])).toBe('a,"say ""so""","x,y","two\r\nlines",\r\n');
  expect(formatCsv(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", '=HYPERLINK("http://b.example","x")', "0x-1"])).toBe(
    `'=1+1,'+1,'-1,'@SUM(A1),'\t=1,"'=HYPERLINK(""http://b.example"",""x"")",0x-1\r\n`,
  );
});
