#!/bin/bash
# The whole way of two players by plain curl: join, wait, accept, match, result.
#
# make serve                       (in another terminal)
# bash examples/curl.sh            [http://127.0.0.1:8750]
set -euo pipefail

server=${1:-http://127.0.0.1:8750}
guests=$$-$RANDOM

if ! command -v curl >/dev/null; then
    echo "curl.sh: curl is missing: sudo apt-get install curl" >&2
    exit 77
fi

field() {  # field NAME: the first value of that name in the JSON on standard input
    grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4
}

join() {  # join PLAYER RATING: prints the ticket; the key makes it safe to send again
    curl -sS --fail-with-body --retry 3 "$server/v1/queues/duel/tickets" -H "Idempotency-Key: $1-$guests" \
        -d "{\"players\": [{\"id\": \"$1-$guests\", \"rating\": $2}]}" | field id
}

ann=$(join ann 1520)
ben=$(join ben 1480)
echo "joined: $ann $ben"

# Ask for ann's ticket until it says so. Whoever can read a stream hears it sooner: GET /v1/tickets/{ticket}/events.
until_told() {  # until_told TICKET ID: prints the first id of that form (p = proposal, m = match) in the ticket
    local ticket told
    for _ in {1..300}; do
        ticket=$(curl -sS --fail-with-body --retry 3 "$server/v1/tickets/$1") || { echo "$ticket" >&2; return 1; }
        if told=$(grep -o "\"$2-[0-9]\{12\}\"" <<<"$ticket"); then
            head -n 1 <<<"$told" | tr -d '"'
            return
        fi
        sleep 0.2
    done
    echo "curl.sh: $1 waits for a minute already: $ticket" >&2
    return 1
}

proposal=$(until_told "$ann" p)
echo "proposed: $proposal"
for player in ann ben; do
    curl -sS --fail-with-body "$server/v1/proposals/$proposal/accept" -d "{\"player\": \"$player-$guests\"}"
    echo
done

match=$(until_told "$ann" m)
echo "matched: $match"
curl -sS --fail-with-body "$server/v1/matches/$match"
echo
curl -sS --fail-with-body "$server/v1/matches/$match/result" -d '{"teams": [{"rank": 1}, {"rank": 2}]}'
echo
