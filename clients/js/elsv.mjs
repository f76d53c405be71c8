/**
 * Asks an elsv decision service from a page that must not wait. Node.js 18 or newer, Deno or Bun; nothing else is needed.
 *
 *     const elsv = new Elsv("http://127.0.0.1:8763", process.env.ELSV_TOKEN, "/var/lib/shop/elsv");
 *     const shown = await elsv.decide("spring", "c-17", "full price"); // show shown.name, keep shown.id with the order
 *     await elsv.reward(shown.id, true);                               // when the order is paid
 *     await elsv.flush();                                              // every minute
 *
 * `decide` never throws and takes no longer than its budget, connection included; otherwise it returns the fallback.
 * The outbox is a folder with one small file for each thing that the service does not know yet. Clients in other
 * languages write the same files, so any of them may flush the outbox of another.
 */
import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";

const FAILURES = 3; // in a row; then the service is left alone for `rest` seconds
const SHARE = 0.8; // of the budget for the service; the rest for timers that are late and to remember what was lost
const BATCH = 500; // outcomes in one request of `flush`
const DOUBT = 60; // seconds in which a request that got no answer may still be decided
const UNSENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(NET|HOST)UNREACH|CERT|SIGNED|ERR_INVALID_URL/; // codes of errors

/** What stopped a request: `sent`: the service may have decided; `final`: it would be refused again. */
class Failure extends Error {
  constructor(message, { sent = false, final = false, resting = false } = {}) {
    super(message);
    Object.assign(this, { sent, final, resting });
  }
}

export class Elsv {
  #url;
  #token;
  #outbox;
  #options;
  #failures = 0;
  #restUntil = 0;

  /**
   * @param {string} url where the service is, such as https://elsv.example or http://127.0.0.1:8763
   * @param {string | undefined} token what `elsv token new` printed
   * @param {string} outbox a folder of this shop's own that may be written to; it is made if it is not there
   * @param {object} [options]
   * @param {number} [options.budget] seconds that `decide`, `reward` and `void` may take, at most: 0.3
   * @param {number} [options.rest] seconds for which a dead service is not asked: 5
   * @param {(message: string) => void} [options.log] is told what went wrong; default: console.error
   */
  constructor(url, token, outbox, { budget = 0.3, rest = 5, log = console.error } = {}) {
    this.#url = String(url).replace(/\/+$/, "");
    this.#token = token;
    this.#outbox = outbox;
    this.#options = { budget, rest, log };
  }

  /**
   * Return what to show to a customer: the arm that the service chose, or the fallback.
   *
   * Give the same text for a customer whenever the customer comes, such as a number or the session's id. If an answer
   * came too late, `flush` voids the decision, since the customer saw the fallback.
   *
   * @returns {Promise<{name: string, id: string | null, why: string | null}>} id null: the fallback, and why
   */
  async decide(campaign, customer, fallback, segment) {
    const key = randomBytes(16).toString("hex");
    try {
      const body = { customer: customer ?? undefined, segment: segment ?? undefined };
      const path = `/campaigns/${encodeURIComponent(campaign)}/decisions`;
      const made = (await this.#guarded(path, body, key)).decisions?.[0];
      if (typeof made?.id !== "string" || typeof made?.name !== "string") {
        throw new Failure("the answer is no decision; is there an elsv service?", { sent: true });
      }
      return { name: made.option ?? made.name, id: made.id, why: null };
    } catch (error) {
      if (error.sent) await this.#remember({ void: key, campaign, at: Math.floor(Date.now() / 1000) }, true);
      this.#tell("decide", error);
      return { name: fallback, id: null, why: error.message };
    }
  }

  /**
   * Report whether a customer bought, by the decision's id; null, the id of a fallback, reports nothing.
   *
   * Returns `recorded`, `duplicate`, `late`, `too late` or `conflict` as the service says it, `later` if the outcome
   * waits in the outbox, `refused` if the service will never take it, `nothing` for a fallback. Never throws.
   */
  async reward(decision, success) {
    return this.#told(decision, "reward", { success }, { reward: decision, success });
  }

  /** Say that the customer never saw what was decided; returns what `reward` does, with `void` for recorded. */
  async void(decision) {
    return this.#told(decision, "void", {}, { void: null, decision });
  }

  /**
   * Send what waits in the outbox; call it every minute or so. Never throws.
   *
   * @returns {Promise<{sent: number, left: number, refused: number}>} what the service refuses is moved to the folder
   *   `refused`
   */
  async flush(seconds = 30) {
    const done = { sent: 0, left: 0, refused: 0 };
    const until = performance.now() + 1000 * seconds;
    try {
      const rewards = [];
      const voids = [];
      for (const file of await this.#waiting()) {
        const entry = await this.#entry(file);
        if (typeof entry?.reward === "string") {
          rewards.push([file, { decision: entry.reward, success: Boolean(entry.success) }]);
        } else if (entry !== null && "void" in entry) {
          voids.push([file, entry]);
        } else {
          done.refused += await this.#putAside(file, "it cannot be read");
        }
      }
      for (let first = 0; first < rewards.length; first += BATCH) {
        await this.#flushRewards(rewards.slice(first, first + BATCH), until, done);
      }
      for (const [file, entry] of voids) await this.#flushVoid(file, entry, until, done);
    } catch (error) {
      this.#tell("flush", error);
    }
    done.left = (await this.#waiting().catch(() => [])).length;
    return done;
  }

  async #flushRewards(batch, until, done) {
    try {
      await this.#send("/rewards", { rewards: batch.map(([, outcome]) => outcome) }, this.#left(until));
      for (const [file] of batch) await unlink(join(this.#outbox, file)).catch(() => {});
      done.sent += batch.length;
    } catch (error) {
      if (!error.final) throw error;
      if (batch.length === 1) {
        done.refused += await this.#putAside(batch[0][0], error.message);
        return;
      }
      for (const one of batch) await this.#flushRewards([one], until, done); // all or none: find the one that is refused
    }
  }

  async #flushVoid(file, entry, until, done) {
    const [path, body] = entry.void === null
      ? [`/decisions/${encodeURIComponent(entry.decision)}/void`, {}]
      : [`/campaigns/${encodeURIComponent(entry.campaign)}/decisions/void`, { key: entry.void }];
    try {
      const answer = await this.#send(path, body, this.#left(until));
      if (entry.void !== null && answer.receipts?.length === 0 && Date.now() / 1000 - entry.at < DOUBT) {
        return; // the service does not know the request yet: it may still be on its way
      }
      await unlink(join(this.#outbox, file)).catch(() => {});
      done.sent += 1;
    } catch (error) {
      if (!error.final) throw error;
      done.refused += await this.#putAside(file, error.message);
    }
  }

  /** Return the milliseconds that a request of `flush` may take. */
  #left(until) {
    const left = until - performance.now();
    if (left <= 0) throw new Failure("there was no time left; the rest waits for the next flush");
    return Math.min(left, 10_000);
  }

  /** Send what is known of a decision within the budget, or put it into the outbox. */
  async #told(decision, what, body, entry) {
    if (decision === null || decision === undefined || decision === "") return "nothing";
    try {
      const path = `/decisions/${encodeURIComponent(decision)}/${what}`;
      return (await this.#guarded(path, body)).status ?? what;
    } catch (error) {
      this.#tell(what, error);
      if (error.final) return "refused";
      return (await this.#remember(entry)) ? "later" : "refused";
    }
  }

  /** Send a request unless the service is being left alone. */
  async #guarded(path, body, key) {
    if (this.#failures >= FAILURES) {
      if (performance.now() < this.#restUntil) {
        const message = `the service did not answer ${this.#failures} times; it is left alone for a while`;
        throw new Failure(message, { resting: true });
      }
      this.#restUntil = performance.now() + 1000 * this.#options.rest; // this one tries; the others wait on
    }
    return this.#send(path, body, 1000 * SHARE * this.#options.budget, key);
  }

  /** Send a request, and count failures in a row. */
  async #send(path, body, milliseconds, key) {
    const stop = new AbortController();
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        stop.abort();
        reject(new Failure("no answer in time", { sent: true }));
      }, milliseconds);
    });
    let status, text;
    try {
      [status, text] = await Promise.race([this.#exchange(path, body, key, stop.signal), late]);
    } catch (error) {
      this.#failed();
      if (error instanceof Failure) throw error;
      const why = error.cause?.message ?? error.message;
      throw new Failure(`no answer: ${why}`, { sent: !UNSENT.test(error.cause?.code ?? "") });
    } finally {
      clearTimeout(timer);
    }
    let value = null;
    try {
      value = JSON.parse(text);
    } catch {
      // not JSON: said below
    }
    if (status >= 200 && status < 300 && value !== null && typeof value === "object") {
      this.#failures = 0;
      return value;
    }
    const refused = status >= 400 && status < 500 && ![408, 429].includes(status);
    if (!refused) this.#failed();
    throw new Failure(`status ${status}: ${value?.detail ?? "is there an elsv service?"}`, {
      sent: !refused && ![408, 429, 503].includes(status),
      final: refused && ![401, 403].includes(status), // a token can be mended
    });
  }

  async #exchange(path, body, key, signal) {
    const headers = { "Content-Type": "application/json" };
    if (this.#token) headers.Authorization = `Bearer ${this.#token.trim()}`;
    if (key !== undefined) headers["Idempotency-Key"] = key;
    const sent = { method: "POST", headers, body: JSON.stringify(body), signal, redirect: "manual" };
    const answer = await fetch(this.#url + path, sent);
    return [answer.status, await answer.text()];
  }

  #failed() {
    this.#failures += 1;
    this.#restUntil = performance.now() + 1000 * this.#options.rest;
  }

  /** Return the files of the outbox, the oldest first. */
  async #waiting() {
    const files = await readdir(this.#outbox).catch(() => []);
    return files.filter((file) => file.endsWith(".json") && !file.startsWith(".")).sort();
  }

  async #entry(file) {
    try {
      const entry = JSON.parse(await readFile(join(this.#outbox, file), "utf8"));
      return typeof entry === "object" ? entry : null;
    } catch {
      return null;
    }
  }

  /** Put something into the outbox: a whole file or none. `quick`: without waiting for the disk. */
  async #remember(entry, quick = false) {
    const id = randomBytes(6).toString("hex");
    const temporary = join(this.#outbox, `.new-${id}`);
    try {
      await mkdir(this.#outbox, { recursive: true, mode: 0o770 });
      const file = await open(temporary, "wx", 0o660);
      try {
        await file.writeFile(JSON.stringify(entry));
        if (!quick) await file.sync();
      } finally {
        await file.close();
      }
      const at = (Date.now() / 1000).toFixed(6).padStart(17, "0");
      await rename(temporary, join(this.#outbox, `${at}-${id}.json`));
      return true;
    } catch (error) {
      this.#tell(`${this.#outbox} cannot be written, so this is lost: ${JSON.stringify(entry)}`, error);
      return false;
    }
  }

  /** Move what the service will never take to the folder `refused`, for a person to look at. */
  async #putAside(file, why) {
    try {
      await mkdir(join(this.#outbox, "refused"), { recursive: true, mode: 0o770 });
      await rename(join(this.#outbox, file), join(this.#outbox, "refused", file));
    } catch {
      return 0; // somebody else has sent it meanwhile
    }
    this.#tell("flush", new Failure(`${why}; see ${join(this.#outbox, "refused", file)}`));
    return 1;
  }

  #tell(what, error) {
    if (error.resting) return; // said when the service stopped answering
    try {
      this.#options.log(`elsv: ${what}: ${error.message}`);
    } catch {
      // nothing may stop a page
    }
  }
}
