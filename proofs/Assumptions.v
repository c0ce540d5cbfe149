(** What the theorems rest on. For each group Coq prints "Closed under the global context": on nothing but
    its own logic, without an axiom and without a step that was left out. *)

From Tarry Require ZeroInflated Block Streams Season Acts StreamSeason Whole.

(** (a) The zero-inflated pair. *)
Definition zero_inflated_pair :=
  (ZeroInflated.dominates, ZeroInflated.b_is_a_law, ZeroInflated.u_is_a_law, ZeroInflated.coupled).

(** (b) Block laws. *)
Definition block_laws :=
  (Block.shift_is_a_coin, Block.every_shift_alike, Block.cost_of_a_shift,
   Block.ticks_are_a_law, Block.dominates).

(** (c) Theorem 1''. *)
Definition two_streams := (Streams.labels_only_fall, Streams.lost_is_the_difference, Streams.theorem_1).

(** (d) Theorem 2. *)
Definition a_season := (Season.every_set_of_ends, Season.theorem_2, Season.every_set).

(** (e) The laws in both theorems, and the streams of one in the other. *)
Definition the_whole :=
  (Acts.season_costs, StreamSeason.stream_costs, Whole.zero_inflated_streams, Whole.zero_inflated_season,
   Whole.block_streams, Whole.block_season, Whole.block_streams_season).

Print Assumptions zero_inflated_pair.
Print Assumptions block_laws.
Print Assumptions two_streams.
Print Assumptions a_season.
Print Assumptions the_whole.
