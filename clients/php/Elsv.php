<?php

declare(strict_types=1);

/**
 * Asks an elsv decision service from a page that must not wait. PHP 8.1 or newer; nothing else is needed.
 *
 *     $elsv = new Elsv('http://127.0.0.1:8763', getenv('ELSV_TOKEN'), '/var/lib/shop/elsv');
 *     $shown = $elsv->decide('spring', 'c-17', 'full price');   // show $shown->name, keep $shown->id with the order
 *     $elsv->reward($shown->id, true);                          // when the order is paid
 *     $elsv->flush();                                           // every minute, from cron
 *
 * `decide` never throws and takes no longer than its budget, connection included; otherwise it returns the fallback.
 * The outbox is a folder with one small file for each thing that the service does not know yet. Clients in other
 * languages write the same files, so any of them may flush the outbox of another.
 */
final class Elsv
{
    private const FAILURES = 3;        // in a row; then the service is left alone for `rest` seconds
    private const SHARE = 0.9;        // of the budget for the service; the rest to remember what was lost
    private const BATCH = 500;         // outcomes in one request of `flush`
    private const DOUBT = 60;          // seconds in which a request that got no answer may still be decided
    private const MOST = 4_000_000;    // bytes of an answer

    private string $scheme;
    private string $host;
    private int $port;
    private string $prefix;

    /**
     * @param string $url where the service is, such as https://elsv.example or http://127.0.0.1:8763
     * @param string|false|null $token what `elsv token new` printed
     * @param string $outbox a folder of this shop's own that PHP may write to; it is made if it is not there
     * @param float $budget seconds that `decide`, `reward` and `void` may take, at most
     * @param float $rest seconds for which a dead service is not asked
     * @param string|null $ca a file of certificates to trust, for https with a certificate of one's own
     * @param callable(string): void|null $log is told what went wrong; default: error_log
     */
    public function __construct(
        string $url,
        private readonly string|false|null $token,
        private readonly string $outbox,
        private readonly float $budget = 0.3,
        private readonly float $rest = 5.0,
        private readonly ?string $ca = null,
        private readonly mixed $log = null,
    ) {
        $parts = parse_url($url) ?: [];
        $this->scheme = strtolower($parts['scheme'] ?? '');
        $this->host = trim($parts['host'] ?? '', '[]');
        $this->port = $parts['port'] ?? ($this->scheme === 'https' ? 443 : 80);
        $this->prefix = rtrim($parts['path'] ?? '', '/');
    }

    /**
     * Return what to show to a customer: the arm that the service chose, or the fallback.
     *
     * Give the same text for a customer whenever the customer comes, such as a number or the session's id. If an
     * answer came too late, `flush` voids the decision, since the customer saw the fallback.
     */
    public function decide(
        string $campaign,
        ?string $customer,
        string $fallback,
        ?string $segment = null,
    ): ElsvDecision {
        set_error_handler(static fn () => true);  // a shop's own handler may turn warnings into exceptions
        $key = '';
        try {
            $key = bin2hex(random_bytes(16));
            $body = array_filter(['customer' => $customer, 'segment' => $segment], fn ($value) => $value !== null);
            $path = '/campaigns/' . rawurlencode($campaign) . '/decisions';
            $answer = $this->guarded($path, (object) $body, self::now() + self::SHARE * $this->budget, $key);
            $made = $answer['decisions'][0] ?? null;
            if (!is_string($made['id'] ?? null) || !is_string($made['name'] ?? null)) {
                throw new ElsvFailure('the answer is no decision; is there an elsv service?', sent: true);
            }
            return new ElsvDecision($made['option'] ?? $made['name'], $made['id']);
        } catch (Throwable $error) {
            if ($error instanceof ElsvFailure && $error->sent) {
                $this->remember(['void' => $key, 'campaign' => $campaign, 'at' => time()], quick: true);
            }
            $this->tell("decide: {$error->getMessage()}", $error);
            return new ElsvDecision($fallback, null, $error->getMessage());
        } finally {
            restore_error_handler();
        }
    }

    /**
     * Report whether a customer bought, by the decision's id; null, the id of a fallback, reports nothing.
     *
     * Returns `recorded`, `duplicate`, `late`, `too late` or `conflict` as the service says it, `later` if the outcome
     * waits in the outbox, `refused` if the service will never take it, `nothing` for a fallback. Never throws.
     */
    public function reward(?string $decision, bool $success): string
    {
        $body = ['success' => $success];
        return $this->told($decision, 'reward', $body, ['reward' => $decision, 'success' => $success]);
    }

    /** Say that the customer never saw what was decided; returns what `reward` does, with `void` for recorded. */
    public function void(?string $decision): string
    {
        return $this->told($decision, 'void', [], ['void' => null, 'decision' => $decision]);
    }

    /**
     * Send what waits in the outbox; call it from cron, every minute or so. Never throws.
     *
     * @return array{sent: int, left: int, refused: int} what the service refuses is moved to the folder `refused`
     */
    public function flush(float $seconds = 30.0): array
    {
        set_error_handler(static fn () => true);
        $done = ['sent' => 0, 'left' => 0, 'refused' => 0];
        try {
            $until = self::now() + $seconds;
            $this->renewAddress();
            [$rewards, $voids] = [[], []];
            foreach ($this->waiting() as $file) {
                $entry = json_decode((string) file_get_contents($file), true);
                if (is_string($entry['reward'] ?? null)) {
                    $rewards[$file] = ['decision' => $entry['reward'], 'success' => (bool) $entry['success']];
                } elseif (is_array($entry) && array_key_exists('void', $entry)) {
                    $voids[$file] = $entry;
                } elseif (is_file($file)) {
                    $done['refused'] += $this->putAside($file, 'it cannot be read');
                }
            }
            foreach (array_chunk($rewards, self::BATCH, true) as $batch) {
                $this->flushRewards($batch, $until, $done);
            }
            foreach ($voids as $file => $entry) {
                $this->flushVoid($file, $entry, $until, $done);
            }
        } catch (Throwable $error) {
            $this->tell("flush: {$error->getMessage()}", $error);
        } finally {
            restore_error_handler();
        }
        $done['left'] = count($this->waiting());
        return $done;
    }

    /** @param array<string, array{decision: string, success: bool}> $batch by their files */
    private function flushRewards(array $batch, float $until, array &$done): void
    {
        try {
            $this->send('/rewards', ['rewards' => array_values($batch)], $this->deadline($until));
            array_map('unlink', array_keys($batch));
            $done['sent'] += count($batch);
        } catch (ElsvFailure $error) {
            if (!$error->final) {
                throw $error;
            }
            if (count($batch) === 1) {
                $done['refused'] += $this->putAside((string) array_key_first($batch), $error->getMessage());
                return;
            }
            foreach ($batch as $file => $outcome) {  // all or none: find the one that is refused
                $this->flushRewards([$file => $outcome], $until, $done);
            }
        }
    }

    private function flushVoid(string $file, array $entry, float $until, array &$done): void
    {
        [$path, $body] = $entry['void'] === null
            ? ['/decisions/' . rawurlencode((string) $entry['decision']) . '/void', (object) []]
            : ['/campaigns/' . rawurlencode((string) $entry['campaign']) . '/decisions/void', ['key' => $entry['void']]];
        try {
            $answer = $this->send($path, $body, $this->deadline($until));
            if ($entry['void'] !== null && ($answer['receipts'] ?? null) === [] && time() - $entry['at'] < self::DOUBT) {
                return;  // the service does not know the request yet: it may still be on its way
            }
            unlink($file);
            $done['sent']++;
        } catch (ElsvFailure $error) {
            if (!$error->final) {
                throw $error;
            }
            $done['refused'] += $this->putAside($file, $error->getMessage());
        }
    }

    /** Seconds by a clock that nobody sets. */
    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    private function deadline(float $until): float
    {
        $now = self::now();
        if ($now >= $until) {
            throw new ElsvFailure('there was no time left; the rest waits for the next flush');
        }
        return min($until, $now + 10.0);
    }

    /** Send what is known of a decision within the budget, or put it into the outbox. */
    private function told(?string $decision, string $what, array $body, array $entry): string
    {
        if ($decision === null || $decision === '') {
            return 'nothing';
        }
        set_error_handler(static fn () => true);
        try {
            $path = '/decisions/' . rawurlencode($decision) . "/$what";
            return (string) ($this->guarded($path, (object) $body, self::now() + self::SHARE * $this->budget)['status'] ?? $what);
        } catch (Throwable $error) {
            $this->tell("$what: {$error->getMessage()}", $error);
            if ($error instanceof ElsvFailure && $error->final) {
                return 'refused';
            }
            return $this->remember($entry) ? 'later' : 'refused';
        } finally {
            restore_error_handler();
        }
    }

    /** Send a request unless the service is being left alone; count failures in a row. */
    private function guarded(string $path, array|object $body, float $deadline, ?string $key = null): array
    {
        $file = "{$this->outbox}/.failures";
        clearstatcache(true, $file);
        $failures = is_file($file) ? (int) filesize($file) : 0;
        if ($failures >= self::FAILURES) {
            if (time() < filemtime($file) + $this->rest) {
                throw new ElsvRest("the service did not answer {$failures} times; it is left alone for a while");
            }
            touch($file);  // this page tries; the others wait for another while
        }
        return $this->send($path, $body, $deadline, $key);
    }

    private function failed(): void
    {
        if (!is_dir($this->outbox)) {
            mkdir($this->outbox, 0770, true);
        }
        file_put_contents("{$this->outbox}/.failures", '.', FILE_APPEND);
    }

    private function send(string $path, array|object $body, float $deadline, ?string $key = null): array
    {
        try {
            $content = json_encode($body, JSON_THROW_ON_ERROR);
            [$status, $answer] = $this->exchange($path, $content, $deadline, $key);
        } catch (JsonException $error) {
            throw new ElsvFailure("what is sent must be UTF-8: {$error->getMessage()}", final: true);
        } catch (ElsvFailure $error) {
            $this->failed();
            throw $error;
        }
        $value = json_decode($answer, true);
        if ($status >= 200 && $status < 300 && is_array($value)) {
            if (is_file("{$this->outbox}/.failures")) {
                unlink("{$this->outbox}/.failures");
            }
            return $value;
        }
        $detail = is_string($value['detail'] ?? null) ? $value['detail'] : 'is there an elsv service?';
        $refused = $status >= 400 && $status < 500 && !in_array($status, [408, 429], true);
        if (!$refused) {
            $this->failed();
        }
        $undecided = $refused || in_array($status, [408, 429, 503], true);
        $final = $refused && !in_array($status, [401, 403], true);  // a token can be mended
        throw new ElsvFailure("status $status: $detail", sent: !$undecided, final: $final);
    }

    /** @return array{int, string} status and body of the answer */
    private function exchange(string $path, string $content, float $deadline, ?string $key): array
    {
        if (!in_array($this->scheme, ['http', 'https'], true) || $this->host === '') {
            throw new ElsvFailure('url must be the address of a service, such as http://127.0.0.1:8763');
        }
        $socket = $this->connected($deadline);
        $sent = false;
        try {
            $host = str_contains($this->host, ':') ? "[{$this->host}]" : $this->host;
            $request = "POST {$this->prefix}{$path} HTTP/1.1\r\nHost: $host:{$this->port}\r\nConnection: close\r\n"
                . "User-Agent: elsv-php\r\nContent-Type: application/json\r\nContent-Length: " . strlen($content) . "\r\n"
                . ($this->token ? 'Authorization: Bearer ' . preg_replace('/\s/', '', $this->token) . "\r\n" : '')
                . ($key === null ? '' : "Idempotency-Key: $key\r\n") . "\r\n" . $content;
            while ($request !== '') {
                $count = (int) fwrite($socket, $request);
                if ($count === 0 && feof($socket)) {
                    throw new ElsvFailure('the connection was lost', $sent);
                }
                $sent = $sent || $count > 0;
                $request = substr($request, $count);
                if ($count === 0) {
                    $this->await($socket, $deadline, $sent, writing: true);
                }
            }
            $answer = '';
            while (!self::whole($answer)) {
                $part = fread($socket, 65536);
                if ($part === '' || $part === false) {
                    if (feof($socket)) {
                        break;
                    }
                    $this->await($socket, $deadline, true);
                } elseif (strlen($answer .= $part) > self::MOST) {
                    throw new ElsvFailure('the answer is too long; is there an elsv service?', true);
                } elseif (self::now() >= $deadline) {
                    throw new ElsvFailure('no answer in time', true);
                }
            }
            return self::read($answer);
        } finally {
            fclose($socket);
        }
    }

    /** @return resource a connection that does not block */
    private function connected(float $deadline)
    {
        $addresses = $this->addresses();
        $options = ['ssl' => ['peer_name' => $this->host] + ($this->ca === null ? [] : ['cafile' => $this->ca])];
        $failure = new ElsvFailure("the name {$this->host} cannot be looked up");
        foreach ($addresses as $tried => $address) {
            $now = self::now();
            $until = $now + ($deadline - $now) / (count($addresses) - $tried);
            $place = str_contains($address, ':') ? "tcp://[$address]:{$this->port}" : "tcp://$address:{$this->port}";
            $flags = STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT;
            $socket = stream_socket_client($place, $code, $why, 0.0, $flags, stream_context_create($options));
            if ($socket === false) {
                $failure = new ElsvFailure("no connection to $place: $why");
                continue;
            }
            try {
                stream_set_blocking($socket, false);
                $this->await($socket, $until, false, writing: true);
                if (stream_socket_get_name($socket, true) === false) {
                    throw new ElsvFailure("no connection to $place: is the service running?");
                }
                while ($this->scheme === 'https') {
                    $done = stream_socket_enable_crypto($socket, true, STREAM_CRYPTO_METHOD_TLS_CLIENT);
                    if ($done === false) {
                        throw new ElsvFailure("no secure connection to {$this->host}: is its certificate to be trusted?");
                    }
                    if ($done === true) {
                        break;
                    }
                    $this->await($socket, $until, false);
                }
                return $socket;
            } catch (ElsvFailure $error) {
                fclose($socket);
                $failure = $error;
            }
        }
        throw $failure;
    }

    /**
     * Return the addresses of the service. PHP cannot look a name up within a given time, so a page uses the
     * addresses that were found last; `flush` finds them anew. Only the very first page looks up a name.
     */
    private function addresses(): array
    {
        if (filter_var($this->host, FILTER_VALIDATE_IP)) {
            return [$this->host];
        }
        $kept = json_decode((string) file_get_contents("{$this->outbox}/.address"), true);
        return is_array($kept[$this->host] ?? null) ? $kept[$this->host] : $this->renewAddress();
    }

    private function renewAddress(): array
    {
        if ($this->host === '' || filter_var($this->host, FILTER_VALIDATE_IP)) {
            return [];
        }
        $found = gethostbynamel($this->host) ?: array_column(dns_get_record($this->host, DNS_AAAA) ?: [], 'ipv6');
        if ($found) {
            $this->write('.address', json_encode([$this->host => $found]));
        }
        return $found;
    }

    /** @param resource $socket */
    private function await($socket, float $deadline, bool $sent, bool $writing = false): void
    {
        $left = $deadline - self::now();
        $read = $writing ? [] : [$socket];
        $write = $writing ? [$socket] : [];
        $except = [];
        if ($left <= 0 || !stream_select($read, $write, $except, (int) $left, (int) (1e6 * ($left - (int) $left)))) {
            if (self::now() >= $deadline) {
                throw new ElsvFailure($sent ? 'no answer in time' : 'no connection in time', $sent);
            }
        }
    }

    /** Return whether an answer has come whole; one that says no length ends with its connection. */
    private static function whole(string $answer): bool
    {
        $end = strpos($answer, "\r\n\r\n");
        if ($end === false) {
            return false;
        }
        $head = substr($answer, 0, $end);
        if (preg_match('/^content-length:\s*(\d+)/mi', $head, $found)) {
            return strlen($answer) >= $end + 4 + (int) $found[1];
        }
        return preg_match('/^transfer-encoding:\s*chunked/mi', $head) && preg_match('/(^|\r\n)0\r\n(.*\r\n)?\r\n$/', $answer);
    }

    /** @return array{int, string} */
    private static function read(string $answer): array
    {
        [$head, $body] = explode("\r\n\r\n", $answer, 2) + ['', ''];
        if (!preg_match('#^HTTP/1\.[01] (\d{3})#', $head, $found)) {
            throw new ElsvFailure('the connection was lost before an answer came', true);
        }
        if (preg_match('/^content-length:\s*(\d+)/mi', $head, $length) && strlen($body) < (int) $length[1]) {
            throw new ElsvFailure('the connection was lost in the middle of an answer', true);
        }
        if (preg_match('/^transfer-encoding:\s*chunked/mi', $head)) {
            for ($whole = ''; preg_match('/^([0-9a-f]+)[^\r\n]*\r\n/i', $body, $size) && hexdec($size[1]) > 0;) {
                $whole .= substr($body, strlen($size[0]), (int) hexdec($size[1]));
                $body = substr($body, strlen($size[0]) + (int) hexdec($size[1]) + 2);
            }
            $body = $whole;
        }
        return [(int) $found[1], $body];
    }

    /** @return list<string> the files of the outbox, the oldest first */
    private function waiting(): array
    {
        return glob(addcslashes($this->outbox, '*?[') . '/*.json') ?: [];
    }

    /** Put something into the outbox; `quick`: without waiting for the disk. */
    private function remember(array $entry, bool $quick = false): bool
    {
        try {
            $content = json_encode($entry, JSON_THROW_ON_ERROR);
            $kept = $this->write(sprintf('%017.6f-%s.json', microtime(true), bin2hex(random_bytes(6))), $content, $quick);
        } catch (Throwable $error) {
            $kept = false;
        }
        if (!$kept) {
            $this->tell("{$this->outbox} cannot be written, so this is lost: " . print_r($entry, true));
        }
        return $kept;
    }

    /** Write a whole file or none: under another name first, then renamed. */
    private function write(string $name, string $content, bool $quick = false): bool
    {
        if (!is_dir($this->outbox)) {
            mkdir($this->outbox, 0770, true);
        }
        $temporary = "{$this->outbox}/.new-" . bin2hex(random_bytes(6));
        $file = fopen($temporary, 'xb');
        if ($file === false) {
            return false;
        }
        $written = fwrite($file, $content) === strlen($content) && fflush($file) && ($quick || fsync($file));
        fclose($file);
        if ($written && rename($temporary, "{$this->outbox}/$name")) {
            return true;
        }
        unlink($temporary);
        return false;
    }

    /** Move what the service will never take to the folder `refused`, for a person to look at. */
    private function putAside(string $file, string $why): int
    {
        if (!is_dir("{$this->outbox}/refused")) {
            mkdir("{$this->outbox}/refused", 0770);
        }
        if (!rename($file, "{$this->outbox}/refused/" . basename($file))) {
            return 0;  // somebody else has sent it meanwhile
        }
        $this->tell("flush: $why; see {$this->outbox}/refused/" . basename($file));
        return 1;
    }

    private function tell(string $message, ?Throwable $error = null): void
    {
        if ($error instanceof ElsvRest) {
            return;  // said when the service stopped answering
        }
        try {
            ($this->log ?? error_log(...))("elsv: $message");
        } catch (Throwable) {
        }
    }
}

/** What to show to a customer. */
final class ElsvDecision
{
    public function __construct(
        public readonly string $name,         // of the arm; with segments that have the same options, the option
        public readonly ?string $id,          // keep it with the order; null: the fallback
        public readonly ?string $why = null,  // why it is the fallback
    ) {
    }
}

/** @internal */
class ElsvFailure extends RuntimeException
{
    public function __construct(
        string $message,
        public readonly bool $sent = false,   // the service may have got the request, and decided
        public readonly bool $final = false,  // it would be refused again
    ) {
        parent::__construct($message);
    }
}

/** @internal the service is being left alone */
final class ElsvRest extends ElsvFailure
{
}
