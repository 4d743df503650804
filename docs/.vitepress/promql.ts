/** TextMate grammar for highlighting PromQL on the site; Shiki has none. */
export const promql = {
  name: "promql",
  scopeName: "source.promql",
  patterns: [
    { match: "#.*$", name: "comment.line.number-sign.promql" },
    { match: `"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'`, name: "string.quoted.promql" },
    { match: String.raw`\[[^\]]*\]`, name: "constant.numeric.range.promql" },
    {
      match: String.raw`\b(?:by|without|on|ignoring|group_left|group_right|offset|bool|and|or|unless)\b`,
      name: "keyword.control.promql",
    },
    { match: String.raw`\b[a-z_]+(?=\s*\()`, name: "entity.name.function.promql" },
    { match: String.raw`\b[a-zA-Z_]\w*(?=\s*(?:=~|!~|!=|=(?!=)))`, name: "entity.other.attribute-name.promql" },
    { match: String.raw`\b\d+(?:\.\d+)?(?:ms|[smhdwy])?\b`, name: "constant.numeric.promql" },
    { match: String.raw`==|!=|>=|<=|=~|!~|[-+*/%^<>=]`, name: "keyword.operator.promql" },
    { match: String.raw`\b[a-zA-Z_:][\w:]*\b`, name: "variable.other.promql" },
  ],
  repository: {},
};
