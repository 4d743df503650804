import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MetricFamily } from "./metric-family.ts";
import { formatText, parseMetricsText } from "./text-format.ts";

describe("text format", () => {
  test("reads every kind of family and writes it again", () => {
    const text = [
      "# HELP h with \\n and \\\\",
      "# TYPE h histogram",
      'h_bucket{le="1"} 1',
      'h_bucket{le="+Inf"} 2',
      "h_sum 3",
      "h_count 2",
      "# TYPE s summary",
      's{quantile="0.5"} NaN',
      "s_sum 1000",
      "# TYPE t gauge",
      't{a="q\\"uo\\\\te\\nnl",b=""} +Inf',
      "# TYPE u untyped",
      "u -Inf",
      "",
    ].join("\n");
    expect(formatText(parseMetricsText(text).values())).toBe(text);
  });

  test("any label text and any number survive", () => {
    const sample = fc.record({
      text: fc.string({ unit: fc.constantFrom('"', "\\", "\n", "n", "é", "😀", "{", "}", " ", "\r", "\u2028") }),
      value: fc.double(),
    });
    fc.assert(
      fc.property(sample, ({ text, value }) => {
        const family: MetricFamily = {
          name: "m",
          type: "gauge",
          help: text,
          samples: [{ name: "m", labels: new Map([["l", text]]), value, hasTimestamp: false }],
        };
        const [back] = parseMetricsText(formatText([family])).values();
        expect(back?.samples[0]?.labels.get("l")).toBe(text);
        expect(back?.samples[0]?.value).toBe(Object.is(value, -0) ? 0 : value);
      }),
    );
  });

  test.each([
    ["a 5", "line 1: unexpected end of input stream"],
    ["a 1\na{ 5\n", 'line 2: invalid label name for metric "a"'],
    ['a{b="c} 5\n', 'line 1: invalid value of label "b" for metric "a"'],
    ['q{a="1",a="2"} 7\n', 'line 1: duplicate label names for metric "q"'],
    ["q 0x10\n", 'line 1: expected float as value, got "0x10"'],
    ["q 1_0\n", 'line 1: expected float as value, got "1_0"'],
    ["q\n", 'line 1: expected float as value, got ""'],
    ["q 7  \n", 'line 1: expected integer as timestamp, got ""'],
    ["q 7 soon\n", 'line 1: expected integer as timestamp, got "soon"'],
    ["7q 1\n", 'line 1: invalid metric name at "7q 1"'],
    ["# TYPE q foo\nq 1\n", 'line 1: unknown metric type "foo"'],
    [
      "# TYPE a gauge\n# TYPE a gauge\n",
      'line 2: second TYPE line for metric name "a", or TYPE reported after samples',
    ],
    ["x 1\n# TYPE x counter\n", 'line 2: second TYPE line for metric name "x", or TYPE reported after samples'],
  ])("refuses %j", (text, reason) => {
    expect(() => parseMetricsText(text)).toThrow(`text format parsing error in ${reason}`);
  });

  test("never hangs and never fails but with a reason", () => {
    const piece = fc.constantFrom("a", "{", "}", '"', "\\", "\n", " ", "1", "=", ",", "# TYPE ", "le", "_sum", "NaN");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        try {
          parseMetricsText(pieces.join(""));
        } catch (error) {
          expect((error as { code?: string }).code).toBe("text_format_invalid");
        }
      }),
    );
  });
});
