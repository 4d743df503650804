import { HttpRequestError } from "viem";
import { expect, test } from "vitest";
import { describeChainFailure } from "./chain-failure.ts";

test.each([
  { details: '"no such route: POST /"', line: "HTTP 404: no such route: POST /" },
  { details: '"<html>\\n<body>"', line: "HTTP 404: <html>" },
  { details: 'unexpected "x"', line: 'HTTP 404: unexpected "x"' },
])("describes an HTTP error in one line, without the quotes of its body: $details", ({ details, line }) => {
  expect(describeChainFailure(new HttpRequestError({ status: 404, details, url: "http://node.test" }))).toBe(line);
});
