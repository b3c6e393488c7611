#!/usr/bin/env python3
"""A writer of receipts after docs/SCHEMAS.md alone: Python's standard library, and openssl for Ed25519.

write.py KEYS EXECUTORS LOG [GIVEN] <results.jsonl: appends a receipt for each tool_result to LOG and replaces the signed head. GIVEN has
a line of JSON for each: `timestamp`, and `id` for what no seal names, so that two writers can be compared to the byte.
"""
import base64, datetime, fcntl, hashlib, hmac, json, math, os, re, subprocess, sys, tempfile, uuid
from decimal import Decimal

ZEROS = "0" * 64
ORDER = ["id", "timestamp", "conversation_id", "tool", "args_hash", "result_hash", "status", "risk", "attestation",
         "previous_hash", "receipt_hash", "mac"]


class NoForm(Exception):
    """The value has no canonical form."""


def number(text):
    """A number as RFC 8785 writes it, which is ECMAScript's way."""
    value = float(text)
    if math.isinf(value) or value == int(value) and abs(value) > 2**53 - 1 or Decimal(text) != Decimal(repr(value)):
        raise NoForm(text)
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, digits))
    point = len(digits) + exponent  # the value is 0.DIGITS times ten to the power of point
    if 0 < point <= 21:
        body = digits.ljust(point, "0")[:point] + ("." + digits[point:] if len(digits) > point else "")
    elif -6 < point <= 0:
        body = "0." + "0" * -point + digits
    else:
        body = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + "e%+d" % (point - 1)
    return "-" * sign + body


class Number(str):
    pass


def canonical(value):
    """RFC 8785."""
    if isinstance(value, Number):
        return number(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(canonical(n) + ":" + canonical(value[n]) for n in names) + "}"


def load(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def members(text):
    """The top-level members of an object, each as name, the text of the value, and the text of both."""
    blank, at, out = re.compile(r"[ \t\r\n]*"), 1, []
    decoder = json.JSONDecoder()
    skip = lambda i: blank.match(text, i).end()
    at = skip(skip(0) + 1)
    while text[at] != "}":
        if text[at] == ",":
            at = skip(at + 1)
        start = at
        name, at = decoder.raw_decode(text, at)
        at = skip(skip(at) + 1)
        begin = at
        _, at = decoder.raw_decode(text, at)
        out.append((name, text[begin:at], text[start:at]))
        at = skip(at)
    return out


def sha(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def plain(text):
    raw = text.encode()
    out = "".join(chr(c) if 32 <= c <= 126 and chr(c) not in '%"\\{}' else "%%%02X" % c for c in raw)
    return out if len(out) <= 200 else out[:130] + "%..." + sha(raw)


def args_hash(raw):
    try:
        return sha(canonical(load(raw)))
    except NoForm:
        return sha(canonical(raw))


def openssl(key_der, message, *how):
    with tempfile.TemporaryDirectory() as d:
        for name, data in (("key", key_der), ("message", message)):
            with open(os.path.join(d, name), "wb") as f:
                f.write(data)
        return subprocess.run(["openssl", "pkeyutl", "-rawin", "-keyform", "DER", "-inkey", d + "/key", "-in", d + "/message", *how],
                              capture_output=True)


def sign(seed, message):
    done = openssl(bytes.fromhex("302e020100300506032b657004220420") + seed, message, "-sign")
    assert done.returncode == 0, done.stderr
    return done.stdout


def signed_by(public, message, signature):
    with tempfile.NamedTemporaryFile() as f:
        f.write(signature)
        f.flush()
        return openssl(bytes.fromhex("302a300506032b6570032100") + public, message, "-verify", "-pubin", "-sigfile", f.name).returncode == 0


def unbase64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def seal(result, text, executors):
    """The claims of a result's seal, if it is good; else None."""
    try:
        version, claims, signature = result["seal"].split(".")
        raw = unbase64url(claims)
        said = json.loads(raw)
        if version != "v1" or said["v"] != "1" or not re.fullmatch("[0-9a-f]{16}", said["executor"]):
            return None
        with open(os.path.join(executors, said["executor"] + ".pub")) as f:
            label, key = f.readline().split()
        public = base64.b64decode(key)
        if label != "clawsh-seal-pub-v1" or sha(public)[:16] != said["executor"]:
            return None
        if not signed_by(public, b"clawsh seal v1\n" + raw, unbase64url(signature)):
            return None
    except (KeyError, ValueError, AttributeError, OSError):
        return None
    try:
        record = sha(canonical({n: v for n, v in load(text).items() if n != "seal"}))
    except NoForm:
        record = sha("{" + ",".join(whole for n, _, whole in members(text) if n != "seal") + "}")
    same = said["record_hash"] == record and said["call_id"] == result["id"] and said["status"] == result["status"]
    return said if same else None


def receipt(text, executors, given, taken):
    """A receipt without its place in the chain."""
    result, raw = json.loads(text), {n: v for n, v, _ in members(text)}
    said = seal(result, text, executors)
    verdict = result.get("verdict") or {}
    outcome = {"error": result.get("error", ""), "output": result["output"], "success": result["success"]}
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    r = {
        "id": given.get("id", "receipt-" + str(uuid.uuid4())),
        "timestamp": given.get("timestamp", now),
        "conversation_id": plain(result.get("conversation_id", "")),
        "tool": plain(result["tool"]),
        "args_hash": args_hash(raw.get("args", "null")),
        "result_hash": sha(canonical(outcome)),
        "status": result["status"],
        "risk": verdict.get("risk") if verdict.get("risk") in ("low", "medium", "high") else "high",
        "attestation": said["executor"] if said else "unattested",
    }
    if said:
        r["id"] = name(r, said, taken, "permit" in result["metadata"])
    return r


def name(r, said, taken, refused):
    """The id of a sealed result: its decision's, else its seal's."""
    ids = ["receipt-" + said[n].partition("-")[2] for n in ("audit_id", "id") if said[n]]
    for i in ids:
        there = taken.get(i)
        if not there:
            return i
        same = all(there[n] == r[n] for n in ("args_hash", "result_hash", "status"))
        if i == ids[-1] or same or there.get("attestation") == "recovered" and not refused:
            raise SystemExit("receipt.exists: " + i)


def keys(path):
    """The origin, the id and the seed of the signing key, and the key of macs in use."""
    with open(os.path.join(path, "receipt.key")) as f:
        lines = f.read().splitlines()
    assert lines[0] == "clawsh-receipt-keys-v1"
    for line in lines[1:]:
        word, _, rest = line.partition(" ")
        if word == "sign":
            _, _, origin, key_id, seed = rest.split("+", 4)
        if word == "mac":
            mac = base64.b64decode(rest.split()[0])
    return origin, bytes.fromhex(key_id), base64.b64decode(seed)[1:], mac


def end(log, origin):
    """How many receipts there are, the hash of the last, how many bytes they take, and they by their ids, after the head has been compared."""
    parts = sorted(n for n in os.listdir(log + ".d") if re.fullmatch(r"\d{6,}\.log", n))
    data = b"".join(open(p, "rb").read() for p in [os.path.join(log + ".d", n) for n in parts] + [log])
    lines = data.splitlines()
    last = json.loads(lines[-1])["receipt_hash"] if lines else ZEROS
    with open(log + ".d/head") as f:
        head = f.read().split("\n")
    assert head[:4] == [origin + "/head", str(len(lines)), last, str(len(data))] and data[-1:] in (b"", b"\n"), "the log is not what its head says"
    return len(lines), last, len(data), {json.loads(line)["id"]: json.loads(line) for line in lines}


def append(log, line, head):
    with open(log, "ab") as f:
        f.write(line)
        f.flush()
        os.fsync(f.fileno())
    with open(log + ".d/head.new", "wb") as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(head)
        f.flush()
        os.fsync(f.fileno())
    os.rename(log + ".d/head.new", log + ".d/head")


def main(key_dir, executors, log, given=None):
    origin, key_id, seed, mac_key = keys(key_dir)
    known = [json.loads(line) for line in open(given)] if given else []
    with open(log, "rb") as lock:
        for i, text in enumerate(sys.stdin.buffer.read().decode().splitlines()):
            fcntl.flock(lock, fcntl.LOCK_EX)
            count, last, size, taken = end(log, origin)
            r = receipt(text, executors, known[i] if known else {}, taken)
            r["previous_hash"] = last
            r["receipt_hash"] = sha(canonical(r))
            r["mac"] = hmac.new(mac_key, b"clawsh receipt mac v1\n" + r["receipt_hash"].encode(), "sha256").hexdigest()
            line = ("{" + ",".join('"%s":"%s"' % (n, r[n]) for n in ORDER) + "}\n").encode()
            said = "%s/head\n%d\n%s\n%d\n" % (origin, count + 1, r["receipt_hash"], size + len(line))
            signature = base64.b64encode(key_id + sign(seed, said.encode())).decode()
            append(log, line, ("%s\n— %s %s\n" % (said, origin, signature)).encode())
            fcntl.flock(lock, fcntl.LOCK_UN)


main(*sys.argv[1:])
