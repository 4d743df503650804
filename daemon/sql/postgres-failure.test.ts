import { expect, test } from "vitest";
import { explainPostgresFailure } from "./postgres-failure.ts";

const location = { host: "db", port: 5_432, database: "ledger", user: "gatehouse" };

test.each([
  ["28000", 'no pg_hba.conf entry for host "::1", user "gatehouse", database "ledger", no encryption', "add ?sslmode="],
  ["28000", 'no pg_hba.conf entry for host "::1", user "gatehouse", database "ledger", SSL off', "add ?sslmode="],
  ["28000", 'role "gatehouse" does not exist', "permit user gatehouse in the server's pg_hba.conf"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain", "add the server's CA to the URL"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate", "add the server's CA to the URL"],
  ["53300", "sorry, too many clients already", "close other connections, or raise the server's max_connections"],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "Hostname/IP does not match certificate's altnames",
    "correct the host in the URL: the server's certificate is for another host",
  ],
  ["CERT_HAS_EXPIRED", "certificate has expired", "renew the server's certificate, or correct this machine's clock"],
  ["CERT_NOT_YET_VALID", "certificate is not yet valid", "renew the server's certificate, or correct this machine's"],
  ["57014", "canceling statement due to statement timeout", "check the server's log, load and free disk space"],
  [undefined, "Query read timeout", "check the server's log, load and free disk space"],
  ["53100", "could not extend file: No space left on device", "check the server's log, load and free disk space"],
  ["25006", "cannot execute INSERT in a read-only transaction", "correct the host in the URL: the server must be the"],
  ["57P03", "the database system is starting up", "check the server's log"],
  ["EPIPE", "write EPIPE", "check that the server is running and reachable from here"],
  [undefined, "timeout expired", "check that the server is running and reachable from here"],
])("explains what to do about %s %s", (code, message, remedy) => {
  const text = explainPostgresFailure(Object.assign(new Error(message), { code }), location);
  expect(text).toContain(`can't use database "ledger" of PostgreSQL at db:5432 (${message}); ${remedy}`);
});

test("describes an error without a message by its code: several addresses refused the connection", () => {
  expect(explainPostgresFailure({ code: "ECONNREFUSED", message: "" }, location)).toContain(
    "(ECONNREFUSED); check that",
  );
});
